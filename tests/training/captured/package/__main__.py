import mindspore as ms
from parts import images, loss, momentum, net

network = net()
ms.Model(network, loss(), momentum(network)).train(3, images())
