import mindspore as ms
from parts import images, loss, momentum, net

ms.set_device("CPU")
ms.set_context(mode=ms.GRAPH_MODE)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images(), dataset_sink_mode=True)
