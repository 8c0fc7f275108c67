from mindspore import nn
from parts import images, loss, momentum, net


class Step(nn.TrainOneStepCell):
    def construct(self, *inputs):
        value = self.network(*inputs)
        grads = self.grad(self.network, self.weights)(*inputs, self.sens)
        self.optimizer(grads)
        return value


network = net()
step = Step(nn.WithLossCell(network, loss()), momentum(network))
step.set_train()
for batch in images():
    step(*batch)
