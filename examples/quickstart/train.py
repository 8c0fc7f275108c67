"""A small network trained as an Ascend job should be: graph mode, AMP O2, data sink."""

import mindspore as ms
from data import create_dataset
from mindspore import nn


class Network(nn.Cell):
    """Convolution, batch normalisation, ReLU, a dense head."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 7, stride=8)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.head = nn.Dense(8 * 28 * 28, classes)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.flatten(self.relu(self.norm(self.conv(x)))))


def main(epochs: int = 1, images: int = 64) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    network = Network()
    model = ms.Model(
        network,
        nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
        nn.Momentum(network.trainable_params(), learning_rate=0.01, momentum=0.9),
        amp_level="O2",
        # A fixed scale also trains on the CPU; O2's own dynamic loss scale needs an NPU.
        loss_scale_manager=ms.FixedLossScaleManager(1024.0, drop_overflow_update=False),
    )
    model.train(epochs, create_dataset(images), dataset_sink_mode=True)


if __name__ == "__main__":
    main()
