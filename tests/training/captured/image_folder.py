import os
import sys

import mindspore as ms
import mindspore.dataset as ds
from mindspore.dataset import vision
from parts import loss, momentum, net

folder = os.path.join(sys.argv[1], "imagenet", "train")
os.makedirs(os.path.join(folder, "cat"))
for name in ("a.jpg", "b.jpg"):
    with open(os.path.join(folder, "cat", name), "wb") as file:
        file.write(b"no picture")
data = ds.ImageFolderDataset(folder, num_parallel_workers=8, shuffle=True)
data = data.map([vision.Decode(), vision.Resize(8), vision.ToPIL(), vision.ToTensor()], "image").batch(2)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
