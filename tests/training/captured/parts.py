"""Networks and data that several of these programs share."""

import numpy as np
from mindspore import dataset as ds
from mindspore import nn


class Images:
    def __getitem__(self, index):
        return np.full((1, 8, 8), index, np.float32), np.array(index % 2, np.int32)

    def __len__(self):
        return 32


def net():
    return nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dense(4 * 8 * 8, 2))


def loss():
    return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def momentum(network):
    return nn.Momentum(network.trainable_params(), 0.01, 0.9)


def images(workers=1, batch=8):
    return ds.GeneratorDataset(Images(), ["image", "label"], num_parallel_workers=workers).batch(batch)
