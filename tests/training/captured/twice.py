import mindspore as ms
from parts import images, loss, momentum, net

for mode, sink in ((ms.GRAPH_MODE, True), (ms.PYNATIVE_MODE, False)):
    ms.set_context(mode=mode)
    network = net()
    ms.Model(network, loss(), momentum(network)).train(1, images(), dataset_sink_mode=sink)
