"""The default number of workers from a file, more than this machine may have threads."""

import json
import os
import sys

import mindspore as ms
import mindspore.dataset as ds
from parts import images, loss, momentum, net

file = os.path.join(sys.argv[1], "dataset.json")
with open(file, "w") as written:
    json.dump({"numParallelWorkers": 300, "seed": 7}, written)
ds.config.load(file)
assert (ds.config.get_num_parallel_workers(), ds.config.get_seed()) == (300, 7)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images())
