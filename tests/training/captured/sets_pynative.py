import mindspore as ms
from parts import Images, loss, momentum, net

ms.set_context(mode=ms.PYNATIVE_MODE)


def rows():
    yield from (Images()[index] for index in range(32))


network, criterion = net(), loss()
optimizer = momentum(network)
gradient = ms.value_and_grad(lambda image, label: criterion(network(image), label), None, optimizer.parameters)
data = ms.dataset.GeneratorDataset(rows(), ["image", "label"]).batch(8)
for image, label in data.create_tuple_iterator():
    optimizer(gradient(image, label)[1])
