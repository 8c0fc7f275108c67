import mindspore as ms
from parts import images, loss, momentum, net

network, criterion = net(), loss()
optimizer = momentum(network)


@ms.jit
def forward(image, label):
    return criterion(network(image), label)


def train_step(image, label):
    value, grads = ms.value_and_grad(forward, None, optimizer.parameters)(image, label)
    optimizer(grads)
    return value


sink_process = ms.data_sink(train_step, images(), sink_size=4)
for _ in range(3):
    sink_process()
