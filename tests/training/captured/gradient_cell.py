"""A gradient in a cell, its optimiser outside: ``gradient_cell.py value|grad|own|code|jit graph|pynative FOLDER``."""

import os
import sys

import mindspore as ms
from mindspore import nn, ops
from parts import images, loss, momentum, net


class GradNetWithWrtParams(nn.Cell):
    def __init__(self, network, weights):
        super().__init__()
        self.net, self.weights = network, weights
        self.grad_op = ops.GradOperation(get_by_list=True)

    def construct(self, image, label):
        return self.grad_op(self.net, self.weights)(image, label)


class GradInCode(nn.Cell):
    def __init__(self, network, weights):
        super().__init__()
        self.net, self.weights = network, weights

    def construct(self, image, label):
        return ms.ops.grad(self.net, None, self.weights)(image, label)


how, mode, folder = sys.argv[1:]
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
network = ms.amp.auto_mixed_precision(net(), "O2") if how == "value" else net()
optimizer = momentum(network)
with_loss, weights = nn.WithLossCell(network, loss()).set_train(), optimizer.parameters
if how == "value":
    both = nn.ForwardValueAndGrad(with_loss, weights=weights, get_by_list=True)
    gradient = lambda image, label: both(image, label)[1]  # noqa: E731
elif how == "grad":
    gradient = nn.WithGradCell(with_loss)
elif how == "own":
    gradient = GradNetWithWrtParams(with_loss, weights)
elif how == "code":
    gradient = GradInCode(with_loss, weights)
else:

    @ms.jit
    def gradient(image, label):
        return ms.grad(with_loss, None, weights)(image, label)


for image, label in images():
    optimizer(gradient(image, label))
    ms.save_checkpoint(network, os.path.join(folder, "left.ckpt"))
