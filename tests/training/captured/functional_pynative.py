import mindspore as ms
from parts import images, loss, momentum, net

network, criterion = net(), loss()
optimizer = momentum(network)


def forward_fn(image, label):
    logits = network(image)
    return criterion(logits, label), logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
for image, label in images(batch=16).create_tuple_iterator():
    (value, _), grads = grad_fn(image, label)
    optimizer(grads)
    print("a step was made")
