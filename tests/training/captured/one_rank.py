import mindspore as ms
from mindspore.communication import get_group_size, init
from parts import images, loss, momentum, net

init("hccl")
assert get_group_size() == 8
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images())
