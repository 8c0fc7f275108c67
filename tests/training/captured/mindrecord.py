import os
import sys

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore.mindrecord import FileWriter
from parts import loss, momentum, net

file = os.path.join(sys.argv[1], "train.mindrecord")
writer = FileWriter(file, 1)
writer.add_schema({"image": {"type": "float32", "shape": [1, 8, 8]}, "label": {"type": "int32"}})
writer.write_raw_data([{"image": np.ones((1, 8, 8), np.float32), "label": 1} for _ in range(8)])
writer.commit()
network = net()
data = ds.MindDataset(file, num_parallel_workers=4).batch(4)
ms.Model(network, loss(), momentum(network)).train(1, data)
