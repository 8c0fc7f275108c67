"""More workers than this machine may have threads: by hand, by default, and read once before training."""

import mindspore as ms
import mindspore.dataset as ds
from parts import Images, loss, momentum, net

ds.config.set_num_parallel_workers(300)
data = ds.GeneratorDataset(Images(), ["image", "label"], num_parallel_workers=400, python_multiprocessing=False)
data = data.map(lambda image: image, "image").batch(8, num_parallel_workers=500)
assert ds.config.get_num_parallel_workers() == 300
next(data.create_dict_iterator(num_epochs=1))
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
