import mindspore as ms
from mindspore import nn, ops
from parts import images, loss, momentum, net


class TrainStep(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, image, label):
        value = self.network(image, label)
        grads = self.grad(self.network, self.weights)(image, label)
        return ops.depend(value, self.optimizer(grads))


ms.set_context(mode=ms.GRAPH_MODE)
network = net().to_float(ms.float16)
step = TrainStep(nn.WithLossCell(network, loss()), momentum(network)).set_train()
for _ in range(2):
    for batch in images().create_tuple_iterator(num_epochs=1):
        step(*batch)
