"""As run_mindformer.py: everything from YAML, a Trainer, a step cell of its own, semi-automatic parallel."""

import argparse

import mindspore as ms
import yaml
from mindspore import nn
from mindspore.communication import init
from parts import images, loss, momentum, net


class MFTrainOneStepCell(nn.TrainOneStepWithLossScaleCell):
    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, scale_sense)


class Trainer:
    def __init__(self, config):
        self.config = config

    def train(self):
        config = self.config
        network = net().to_float(getattr(ms, config["model"]["compute_dtype"]))
        wrapper = MFTrainOneStepCell(
            nn.WithLossCell(network, loss()), momentum(network), nn.FixedLossScaleUpdateCell(65536)
        )
        model = ms.Model(wrapper)
        runner = config["runner_config"]
        model.train(
            runner["epochs"],
            images(batch=runner["batch_size"]),
            dataset_sink_mode=runner["sink_mode"],
            sink_size=runner["sink_size"],
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    with open(parser.parse_args().config) as file:
        config = yaml.safe_load(file)
    ms.set_context(**config["context"])
    if config["use_parallel"]:
        init()
        ms.set_auto_parallel_context(**config["parallel"])
    Trainer(config).train()
