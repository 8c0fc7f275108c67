import mindspore as ms
from mindspore import nn
from parts import images, loss, momentum


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(64, 2)

    @ms.jit
    def construct(self, x):
        return self.dense(x.reshape(-1, 64))


network, criterion = Net(), loss()
optimizer = momentum(network)
grad_fn = ms.value_and_grad(lambda image, label: criterion(network(image), label), None, optimizer.parameters)
for image, label in images():
    optimizer(grad_fn(image, label)[1])
