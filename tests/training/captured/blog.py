import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
import numpy as np
from mindspore import nn
from mindspore.train import LossMonitor, Model


class Source:
    def __getitem__(self, index):
        return np.random.rand(224, 224, 3).astype(np.float32), np.random.randint(0, 10)

    def __len__(self):
        return 320


def create_dataset(batch_size=32, num_parallel_workers=8):
    dataset = ds.GeneratorDataset(Source(), ["image", "label"], num_parallel_workers=num_parallel_workers)
    dataset = dataset.map([vision.Rescale(1.0 / 255.0, 0.0), vision.HWC2CHW()], "image", num_parallel_workers=8)
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label", num_parallel_workers=8)
    return dataset.batch(batch_size, drop_remainder=True, num_parallel_workers=8)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(8 * 224 * 224, 10)

    def construct(self, x):
        return self.fc(self.flatten(self.relu(self.bn(self.conv(x)))))


ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
net = Net()
model = Model(
    net,
    nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
    nn.Momentum(net.trainable_params(), 0.01, 0.9),
    amp_level="O2",
)
model.train(10, create_dataset(), callbacks=[LossMonitor()], dataset_sink_mode=True)
