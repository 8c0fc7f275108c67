import mindspore as ms
from parts import images, loss, momentum, net

on_ascend = ms.get_context("device_target") == "Ascend" and ms.get_current_device().device_target == "Ascend"
ms.set_context(mode=ms.GRAPH_MODE if on_ascend else ms.PYNATIVE_MODE)
network = net()
model = ms.Model(network, loss(), momentum(network), amp_level="O2" if on_ascend else "O0")
model.train(1, images(), dataset_sink_mode=on_ascend)
