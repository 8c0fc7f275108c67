import mindspore


def load():
    return mindspore.dataset.ImageFolderDataset("/no/such/place")


load()
