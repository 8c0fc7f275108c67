"""As mindcv's train.py: a parser filled from a YAML file, a loader by parts, a trainer with a fixed loss scale."""

import argparse

import mindspore as ms
import yaml
from mindspore import FixedLossScaleManager, Model
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import GeneratorDataset, vision
from mindspore.train import LossMonitor, TimeMonitor
from parts import Images, loss, momentum, net


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--distribute", type=int)
    with open(parser.parse_known_args()[0].config) as file:
        parser.set_defaults(**yaml.safe_load(file))
    return parser.parse_known_args()[0]


def create_loader(dataset, batch_size, workers):
    dataset = dataset.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image", num_parallel_workers=workers)
    dataset = dataset.map(lambda label: label, "label", num_parallel_workers=workers, python_multiprocessing=True)
    return dataset.batch(batch_size, drop_remainder=True, num_parallel_workers=workers)


def create_trainer(network, args):
    manager = FixedLossScaleManager(args.loss_scale, drop_overflow_update=False)
    return Model(network, loss(), momentum(network), amp_level=args.amp_level, loss_scale_manager=manager)


def train(args):
    ms.set_context(mode=args.mode)
    device_num, rank = None, None
    if args.distribute:
        init()
        device_num, rank = get_group_size(), get_rank()
        ms.set_auto_parallel_context(device_num=device_num, parallel_mode="data_parallel", gradients_mean=True)
    dataset = GeneratorDataset(Images(), ["image", "label"], num_shards=device_num, shard_id=rank)
    loader = create_loader(dataset, args.batch_size, args.num_parallel_workers)
    trainer = create_trainer(net(), args)
    callbacks = [LossMonitor(), TimeMonitor()]
    trainer.train(args.epoch_size, loader, callbacks=callbacks, dataset_sink_mode=args.dataset_sink_mode)


if __name__ == "__main__":
    train(parse())
