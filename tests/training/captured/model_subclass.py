import mindspore as ms
from parts import images, loss, momentum, net


class Trainer(ms.Model):
    def __init__(self, *args, debug=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.debug = debug

    def train(self, epoch, dataset, sink=True):
        return super().train(epoch, dataset, dataset_sink_mode=sink and not self.debug)


ms.set_context(mode=ms.GRAPH_MODE)
network = net()
Trainer(network, loss(), momentum(network), amp_level="O3", debug=True).train(5, images())
