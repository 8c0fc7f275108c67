"""A trainer that drives ``DatasetHelper`` with sink, and evaluates so before: ``helper_sink.py graph|pynative``."""

import sys

import mindspore as ms
from mindspore import DatasetHelper, connect_network_with_dataset, nn
from parts import images, loss, momentum, net

ms.set_context(mode=ms.GRAPH_MODE if sys.argv[1] == "graph" else ms.PYNATIVE_MODE)
network = net()
with_loss = nn.WithLossCell(network, loss())
step = nn.TrainOneStepCell(with_loss, momentum(network)).set_train()

helper = DatasetHelper(images(), dataset_sink_mode=True, sink_size=4, epoch_num=2)
eval_helper = DatasetHelper(images(batch=16), epoch_num=1)
types, shapes = eval_helper.types_shapes()
evaluate = connect_network_with_dataset(with_loss, eval_helper)
for inputs in eval_helper:
    print("evaluated", evaluate(*inputs).shape, shapes[0], eval_helper.sink_size())
eval_helper.stop_send()

step = connect_network_with_dataset(step, helper)
for _ in range(2):
    for inputs in helper:
        step(*inputs)
    print("an epoch was made")
