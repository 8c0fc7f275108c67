import threading

import mindspore as ms
from parts import images, loss, momentum, net


def work():
    network = net()
    ms.Model(network, loss(), momentum(network)).train(1, images(), None, True, 7)


ms.set_context(mode=ms.GRAPH_MODE)
thread = threading.Thread(target=work)
thread.start()
thread.join()
