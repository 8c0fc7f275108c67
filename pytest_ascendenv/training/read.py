"""Facts of a training call, read from MindSpore's own objects at the moment of the call.

MindSpore has no public reader for what a ``Model`` was built with, so its attributes are read; a version without them
gives "unknown" with the attribute's name, never a guess.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from pytest_ascendenv.training import scaling
from pytest_ascendenv.training.amp import Precision
from pytest_ascendenv.training.dataset import Operation
from pytest_ascendenv.training.reach import Reach
from pytest_ascendenv.training.record import GRAPH, PYNATIVE
from pytest_ascendenv.verdict import Fact

Facts = dict[str, Fact]

_BATCHES = {"BatchDataset", "PaddedBatchDataset", "BucketBatchByLengthDataset", "DataLoader"}
"""What makes batches; without a size of its own, by a function, a sampler or buckets."""


def context(sites: Mapping[str, str], site: str, from_start: bool = False) -> Facts:
    """Mode, device and compilation; ``sites`` tells where each key was set, as far as that was seen.

    ``from_start``: it was watched since MindSpore was imported, so what has no site was never set.
    """
    facts = [_mode(sites, site, from_start), _device(sites, site), _jit_level(sites), _graph_kernel(sites, from_start)]
    if os.environ.get("MS_JIT") == "0":
        facts.append(Fact("ms_jit", "0", "environment variable MS_JIT"))
    return {fact.name: fact for fact in facts}


def mode() -> str:
    """The mode of the context, whatever MS_JIT says."""
    mindspore = sys.modules["mindspore"]
    return GRAPH if mindspore.get_context("mode") == mindspore.GRAPH_MODE else PYNATIVE


def device() -> str:
    return str(sys.modules["mindspore"].get_context("device_target"))


def _mode(sites: Mapping[str, str], site: str, from_start: bool) -> Fact:
    if from_start and mode() == PYNATIVE and "mode" not in sites:
        return Fact.unset("execution_mode", PYNATIVE, site, "MindSpore's default: no set_context(mode=…) was called")
    return Fact("execution_mode", mode(), sites.get("mode", f'get_context("mode") at {site}'))


def _device(sites: Mapping[str, str], site: str) -> Fact:
    if "device_target" in sites:
        return Fact("device_target", device(), sites["device_target"])
    return Fact.unset("device_target", device(), f'get_context("device_target") at {site}')


def _jit_level(sites: Mapping[str, str]) -> Fact:
    level = sys.modules["mindspore"].get_context("jit_level")
    if not level:
        return Fact.unset("jit_level", None, 'get_context("jit_level")', "MindSpore chooses by device")
    return Fact("jit_level", level, sites.get("jit_level", sites.get("jit_config", 'get_context("jit_level")')))


def _graph_kernel(sites: Mapping[str, str], from_start: bool) -> Fact:
    value = bool(sys.modules["mindspore"].get_context("enable_graph_kernel"))
    if from_start and "enable_graph_kernel" not in sites:
        return Fact.unset("graph_kernel", value, 'get_context("enable_graph_kernel")', "MindSpore's default")
    return Fact("graph_kernel", value, sites.get("enable_graph_kernel", 'get_context("enable_graph_kernel")'))


def model(found: Any, reach: Reach, precision: Precision, site: str) -> Facts:
    """What a ``Model`` was built with and what its network holds; ``site`` is where it was built."""
    where = site or "the Model"
    facts = [
        amp_level(precision, getattr(found, "_amp_level", None), where),
        _keep_batchnorm(found, where),
        _loss_scale(found, reach, where),
        _attribute("boost_level", found, "_boost_level", where),
    ]
    if getattr(found, "_optimizer", None) is None:
        facts.append(Fact.unset("optimizer", None, where, "the network updates itself, or nothing does"))
    return {fact.name: fact for fact in facts}


def amp_level(precision: Precision, declared: str | None, where: str) -> Fact:
    """The level in effect; where the cells allow the declared one, that."""
    if declared is None or precision.meets(declared):
        return Fact("amp_level", declared or precision.level, where, reason=str(precision))
    return Fact("amp_level", precision.level, where, reason=f'declared "{declared}", but {precision}')


def _attribute(name: str, found: Any, attribute: str, where: str) -> Fact:
    if not hasattr(found, attribute):
        return Fact.unknown(name, f"this MindSpore's Model has no {attribute}", where)
    return Fact(name, getattr(found, attribute), where)


def _keep_batchnorm(found: Any, where: str) -> Fact:
    """Where it is not given, only O2 keeps the norm layers (mindspore/train/amp.py, 2.7 to 2.10)."""
    fact = _attribute("keep_batchnorm_fp32", found, "_keep_bn_fp32", where)
    if fact.status == "unknown" or fact.value is not None:
        return fact
    default = {"O2": True, "O3": False}.get(str(getattr(found, "_amp_level", "")))
    return Fact.unset(fact.name, default, where, "the AMP level decides")


def _loss_scale(found: Any, reach: Reach, where: str) -> Fact:
    """What is given to ``Model``, or what the step cell that it was given applies."""
    manager = getattr(found, "_loss_scale_manager", None)
    if manager is not None:
        return Fact("loss_scale", scaling.describe(manager), where)
    scale, step = scaling.of_step(reach.parts, reach.scalers), type(getattr(found, "train_network", None)).__name__
    if scale is None:
        return Fact.unset("loss_scale", None, where)
    if getattr(found, "_optimizer", None) is None:
        return Fact("loss_scale", scale, where, reason=f"of the step cell, {step}")
    return Fact.unset("loss_scale", "DynamicLossScaleManager", where, f"the level and the step cell say so ({step})")


def loop(reach: Reach, precision: Precision | None, where: str) -> Facts:
    """The same facts for a step without a ``Model``."""
    none = "a hand-written step has no such argument"
    unscaled = "the step holds no LossScaler and no cell that scales"
    level = (
        amp_level(precision, None, where)
        if precision
        else Fact.unknown("amp_level", "no network with parameters was found in the step", where)
    )
    scale = scaling.of_step(reach.parts, reach.scalers)
    return {
        "amp_level": level,
        "keep_batchnorm_fp32": Fact.unset("keep_batchnorm_fp32", None, where, none),
        "loss_scale": Fact("loss_scale", scale, where) if scale else Fact.unset("loss_scale", None, where, unscaled),
        "epochs": Fact.unknown("epochs", none, where),
    }


def sink(asked: Any, size: int | None, site: str, device: str, given: bool = True) -> Facts:
    """What ``Model`` or ``DatasetHelper`` was asked for, and what acts here; not ``given``, it is the default."""
    mode_fact = Fact("sink_mode", asked, site) if given else Fact.unset("sink_mode", asked, site)
    return _sink(mode_fact, _sink_in_effect(asked, site, device), size, site)


def no_sink(site: str) -> Facts:
    """A loop that takes each batch from an iterator has no such arguments."""
    none = "a hand-written loop has no such argument"
    acts = Fact("sink_in_effect", False, site, reason="the loop feeds each batch from Python")
    facts = [Fact.unset("sink_mode", False, site, none), acts, Fact.unset("sink_size", None, site, none)]
    return {fact.name: fact for fact in facts}


def data_sink(size: int, site: str, device: str) -> Facts:
    """``mindspore.data_sink`` fetches from the queue in either mode (train/data_sink.py, 2.7 to 2.10); not on a CPU."""
    name = "sink_in_effect"
    acts = Fact(name, False, site, reason="data_sink refuses a CPU") if device == "CPU" else Fact(name, True, site)
    return _sink(Fact("sink_mode", True, site, reason="data_sink"), acts, size, site)


def _sink(asked: Fact, acts: Fact, size: int | None, site: str) -> Facts:
    facts = [asked, acts]
    facts.append(
        Fact.unset("sink_size", -1, site, "the whole dataset at once")
        if size in (None, -1)
        else Fact("sink_size", size, site)
    )
    return {fact.name: fact for fact in facts}


def _sink_in_effect(asked: Any, site: str, device: str) -> Fact:
    name = "sink_in_effect"
    if asked is not True:
        return Fact(name, False, site, reason="dataset_sink_mode is not True")
    if mode() == PYNATIVE:
        return Fact(name, False, site, reason="under PYNATIVE_MODE MindSpore trains with dataset not sink")
    if device == "CPU":
        return Fact(name, False, site, reason="MindSpore turns the sink off on a CPU")
    return Fact(name, True, site)


def dataset(operations: tuple[Operation, ...] | None, site: str) -> Facts:
    """What the tree tells of the batch."""
    if operations is None:
        return {"batch_size": Fact.unknown("batch_size", "the dataset of this call is not known", site)}
    batched = [operation for operation in operations if operation.batch_size or operation.kind in _BATCHES]
    if not batched:
        return {"batch_size": Fact.unset("batch_size", None, site, "not batched")}
    last = batched[-1]
    if not last.batch_size:
        return {"batch_size": Fact.unknown("batch_size", f"{last.kind} was given no number for it", site)}
    return {"batch_size": Fact("batch_size", last.batch_size, site)}


def ranks(site: str) -> Facts:
    """Devices of the parallel context, 1 where the program runs alone."""
    mindspore = sys.modules["mindspore"]
    if mindspore.get_auto_parallel_context("parallel_mode") == "stand_alone":
        return {"ranks": Fact.unset("ranks", 1, 'get_auto_parallel_context("parallel_mode")')}
    return {"ranks": Fact("ranks", mindspore.get_auto_parallel_context("device_num"), site)}
