import mindspore as ms
from mindspore import data_sink
from parts import images, loss, momentum, net

ms.set_context(mode=ms.GRAPH_MODE)
network, criterion = ms.amp.auto_mixed_precision(net(), "O3"), loss()
optimizer = momentum(network)


def forward(image, label):
    return criterion(network(image), label)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)


def train_step(image, label):
    value, grads = grad_fn(image, label)
    optimizer(grads)
    return value


sink_process = data_sink(train_step, images(), sink_size=4)
for _ in range(10):
    sink_process()
