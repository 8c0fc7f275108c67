"""A step that ``@jit`` captures otherwise than from its source: ``captures_jit.py bytecode|trace``."""

import sys

import mindspore as ms
from parts import images, loss, momentum, net

network, criterion = net(), loss()
optimizer = momentum(network)


def forward(image, label):
    return criterion(network(image), label)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)


@ms.jit(capture_mode=sys.argv[1])
def train_step(image, label):
    value, grads = grad_fn(image, label)
    optimizer(grads)
    return value


for image, label in images():
    train_step(image, label)
    print("a step was made")
