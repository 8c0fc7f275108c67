"""The default number of workers: asked for, and left as it is, in a pipeline that is read before training."""

import mindspore as ms
import mindspore.dataset as ds
from parts import Images, loss, momentum, net

workers = ds.config.get_num_parallel_workers()
data = ds.GeneratorDataset(Images(), ["image", "label"], num_parallel_workers=workers, python_multiprocessing=False)
data = data.map(lambda image: image, "image").batch(8)
next(data.create_dict_iterator(num_epochs=1))
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
