"""A source that holds its files in an array of numpy."""

import os
import sys

import mindspore as ms
import numpy as np
from parts import Images, loss, momentum, net


class Listed(Images):
    def __init__(self, folder):
        self.root = np.str_(folder)
        self.files = np.array([os.path.join(folder, f"{number}.bin") for number in range(32)])
        for file in self.files:
            with open(file, "wb") as written:
                written.write(b"01234567")


folder = os.path.join(sys.argv[1], "numpy")
os.makedirs(folder)
data = ms.dataset.GeneratorDataset(Listed(folder), ["image", "label"]).batch(8)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
