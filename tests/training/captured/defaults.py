from mindspore.train import Model
from parts import images, loss, momentum, net

network = net()
Model(network, loss(), momentum(network)).train(1, images())
