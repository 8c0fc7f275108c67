import mindspore as ms
from mindspore.dataset.dataloader import DataLoader
from parts import Images, loss, momentum, net

network, criterion = net(), loss()
optimizer = momentum(network)


def forward(image, label):
    return criterion(network(image), label)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
for image, label in DataLoader(Images(), batch_size=8, num_workers=2):
    value, grads = grad_fn(ms.Tensor(image), ms.Tensor(label))
    optimizer(grads)
