import mindspore as ms
from mindspore.amp import DynamicLossScaler, auto_mixed_precision
from parts import images, loss, momentum, net

ms.set_context(mode=ms.GRAPH_MODE, jit_level="O0")
network, criterion = auto_mixed_precision(net(), "O2", dtype=ms.bfloat16), loss()
optimizer, scaler = momentum(network), DynamicLossScaler(1024, 2, 100)


def forward_fn(image, label):
    return scaler.scale(criterion(network(image), label))


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
for image, label in images():
    value, grads = grad_fn(image, label)
    optimizer(scaler.unscale(grads))
