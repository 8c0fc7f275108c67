"""Gradients by inputs and evaluations before the training: ``adversarial.py cell|function|jit graph|pynative``."""

import sys

import mindspore as ms
from mindspore import nn, ops
from parts import images, loss, momentum, net


class GradWrtInput(nn.Cell):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.grad = ops.GradOperation()

    def construct(self, image, label):
        return self.grad(self.network)(image, label)


how, mode = sys.argv[1:]
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
network = net()
with_loss, optimizer = nn.WithLossCell(network, loss()), momentum(network)
if how == "cell":
    attack = GradWrtInput(with_loss)
elif how == "function":
    attack = ms.grad(with_loss, grad_position=0)
else:

    @ms.jit
    def attack(image, label):
        return ms.grad(with_loss, grad_position=0)(image, label)


image, label = next(images().create_tuple_iterator(num_epochs=1))
image = image + 0.1 * ops.sign(attack(image, label))
print("the attack was made", network(image).shape)


def forward(image, label):
    return with_loss(image, label)


step = ms.value_and_grad(forward, None, optimizer.parameters)
for image, label in images(batch=4):
    value, grads = step(image + 0.1 * ops.sign(attack(image, label)), label)
    optimizer(grads)
