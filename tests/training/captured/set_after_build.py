import mindspore as ms
from parts import images, loss, momentum, net

ms.set_context(mode=ms.GRAPH_MODE)
network = net()
model = ms.Model(network, loss(), momentum(network), amp_level="O2", keep_batchnorm_fp32=False)
ms.set_context(mode=ms.PYNATIVE_MODE)
model.train(1, images(), dataset_sink_mode=True)
