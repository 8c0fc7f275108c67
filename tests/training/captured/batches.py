"""Batches without one size: ``batches.py function|buckets``."""

import sys

import mindspore as ms
from mindspore.dataset import GeneratorDataset
from parts import Images, loss, momentum, net

data = GeneratorDataset(Images(), ["image", "label"])
if sys.argv[1] == "function":
    data = data.batch(lambda info: 2 + info.get_batch_num())
else:
    data = data.bucket_batch_by_length(["image"], [4, 8], [2, 4, 8], lambda image: image.shape[-1])
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
