import os

import mindspore as ms
from parts import images, loss, momentum, net

child = os.fork()
if child == 0:
    network = net()
    ms.Model(network, loss(), momentum(network)).train(6, images())
os.waitpid(child, 0)
