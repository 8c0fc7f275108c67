import sys

epochs = int(sys.argv[1])
del sys.argv[:]
import mindspore as ms  # noqa: E402
from parts import images, loss, momentum, net  # noqa: E402

network = net()
ms.Model(network, loss(), momentum(network)).train(epochs, images())
