"""Optimisers of ``experimental.optim`` and ``mint.optim``: ``other_optimizer.py experimental|mint jit|cell|loop``."""

import sys

import mindspore as ms
from mindspore import mint, nn, ops
from mindspore.experimental import optim
from parts import images, loss, net

family, how = sys.argv[1:]
network, criterion = net().to_float(ms.float16), loss()
make = optim.Adam if family == "experimental" else mint.optim.AdamW
optimizer = make(network.trainable_params(), lr=0.01)


def forward(image, label):
    return criterion(network(image), label)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)


@ms.jit
def train_step(image, label):
    value, grads = grad_fn(image, label)
    optimizer(grads)
    return value


class TrainStep(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters

    def construct(self, image, label):
        grads = ops.grad(self.network, None, self.weights)(image, label)
        return self.optimizer(grads)


step = train_step
if how == "cell":
    ms.set_context(mode=ms.GRAPH_MODE)
    step = TrainStep(nn.WithLossCell(network, criterion), optimizer)
elif how == "loop":
    step = lambda image, label: optimizer(grad_fn(image, label)[1])  # noqa: E731
for image, label in images():
    step(image, label)
