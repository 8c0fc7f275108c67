import mindspore as ms
from mindspore import DatasetHelper, nn
from parts import images, loss, momentum, net

ms.set_context(mode=ms.GRAPH_MODE)
network = net()
step = nn.TrainOneStepCell(nn.WithLossCell(network, loss()), momentum(network)).set_train()
helper = DatasetHelper(images(), dataset_sink_mode=False)
for batch in helper:
    step(*batch)
