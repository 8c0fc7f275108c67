"""As mindocr's train.py: YAML, a list of transforms by name, a wrapper that steps with a dynamic loss scale."""

import sys

import mindspore as ms
import yaml
from mindspore import nn
from mindspore.dataset import GeneratorDataset
from parts import Images, loss, momentum, net

with open(sys.argv[sys.argv.index("--config") + 1]) as file:
    cfg = yaml.safe_load(file)


class DecodeImage:
    def __call__(self, image):
        return image


class NormalizeImage:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, image):
        return image * self.scale


TRANSFORMS = {"DecodeImage": DecodeImage, "NormalizeImage": NormalizeImage}


def build_dataset(config):
    dataset = GeneratorDataset(Images(), ["image", "label"], num_parallel_workers=config["num_workers"])
    pipeline = [TRANSFORMS[name](**(args or {})) for step in config["transforms"] for name, args in step.items()]
    dataset = dataset.map(pipeline, "image", num_parallel_workers=config["num_workers"], python_multiprocessing=True)
    return dataset.batch(config["batch_size"])


class TrainOneStepWrapper(nn.TrainOneStepWithLossScaleCell):
    pass


ms.set_context(mode=cfg["system"]["mode"], device_target="Ascend", device_id=0)
network = ms.amp.auto_mixed_precision(net(), amp_level=cfg["system"]["amp_level"])
optimizer = momentum(network)
scale = nn.DynamicLossScaleUpdateCell(loss_scale_value=2**16, scale_factor=2, scale_window=1000)
train_net = TrainOneStepWrapper(nn.WithLossCell(network, loss()), optimizer, scale_sense=scale)
model = ms.Model(train_net)
model.train(cfg["epochs"], build_dataset(cfg["train"]), dataset_sink_mode=cfg["train"]["dataset_sink_mode"])
