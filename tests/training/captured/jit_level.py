"""Levels that are given elsewhere than in the context: ``jit_level.py model|late|cell|jit|plain|sink``."""

import sys

import mindspore as ms
from mindspore import nn
from parts import images, loss, momentum, net

how = sys.argv[1]
if how in ("jit", "plain"):
    ms.set_context(jit_level="O0" if how == "jit" else "O1")
else:
    ms.set_context(mode=ms.GRAPH_MODE)
network, criterion = net(), loss()
config = ms.JitConfig(jit_level="O1")
if how in ("model", "cell"):
    network.set_jit_config(config)
optimizer = momentum(network)
with_loss = nn.WithLossCell(network, criterion)


def train_step(image, label):
    value, grads = ms.value_and_grad(with_loss, None, optimizer.parameters)(image, label)
    optimizer(grads)
    return value


if how in ("model", "late"):
    model = ms.Model(network, criterion, optimizer)
    if how == "late":
        network.set_jit_config(config)
    model.train(1, images())
elif how == "cell":
    step = nn.TrainOneStepCell(with_loss, optimizer)
    for batch in images():
        step(*batch)
elif how == "sink":
    ms.data_sink(train_step, images(), sink_size=2, jit_config=config)()
else:
    step = ms.jit(train_step, jit_level="O1") if how == "jit" else ms.jit(train_step)
    for batch in images():
        step(*batch)
