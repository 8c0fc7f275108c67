"""A hand-written loop whose worker processes already run when the first step is made."""

import mindspore as ms
from parts import Images, loss, momentum, net


def brighter(image):
    return image + 1


network, criterion = net(), loss()
optimizer = momentum(network)
data = ms.dataset.GeneratorDataset(Images(), ["image", "label"], num_parallel_workers=2)
data = data.map(brighter, "image", num_parallel_workers=2, python_multiprocessing=True).batch(4)
grad_fn = ms.value_and_grad(lambda image, label: criterion(network(image), label), None, optimizer.parameters)
for image, label in data.create_tuple_iterator():
    optimizer(grad_fn(image, label)[1])
