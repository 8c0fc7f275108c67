import mindspore as ms
from parts import images, loss, momentum, net

ms.set_device("Ascend", 3)
ms.set_context(mode=ms.GRAPH_MODE)
network, data = net(), images()
model = ms.Model(network, loss(), momentum(network), amp_level="auto")
model.build(data, epoch=2, sink_mode=True)
model.train(2, data, dataset_sink_mode=True)
