"""On a CPU machine: let pass what a captured program asks of Ascend, and keep what it asked.

None of it is installed where MindSpore runs on an NPU, except that no communication group is waited for. Every answer
takes the arguments of the function it stands for, by MindSpore's own names.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import CodeType, ModuleType
from typing import Any

from pytest_ascendenv.training import dataset as tree
from pytest_ascendenv.training import site
from pytest_ascendenv.training.dataset import DEFAULT_WORKERS
from pytest_ascendenv.training.group import Group
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation
from pytest_ascendenv.verdict import Fact

_DEVICES = ("Ascend", "GPU")
_WORKERS = 8
"""MindSpore's default for an operation, on a host with so many threads (dataset/core/config.py, 2.7 to 2.10)."""
_KEY = "numParallelWorkers"
"""Its name in a file for ``mindspore.dataset.config.load``."""
_REFUSE_A_CPU = (
    ("mindspore.train.amp", "build_train_network"),  # dynamic loss scale
    ("mindspore.nn", "SyncBatchNorm.__init__"),  # several ranks
    ("mindspore.nn", "Optimizer._use_parallel_optimizer"),  # under data_parallel
)
"""What asks for the device when a network is built, and has no part in running it."""


class Shims:
    """``asked`` holds the facts that this machine cannot have but the program asked for."""

    def __init__(self, seen: Observation, hooks: Hooks, ranks: int | None = None) -> None:
        self.seen = seen
        self.hooks = hooks
        self.asked: dict[str, Fact] = {}
        self.group = Group(seen, hooks, self.asked, ranks)
        self.device = "Ascend"
        self._builders: set[CodeType] = set()
        self._threads = os.cpu_count() or 1
        self._workers: int | None = None
        self._unset = 0

    def install(self, mindspore: ModuleType) -> None:
        self.group.install()
        if mindspore.get_context("device_target") != "CPU":
            return
        self._devices(mindspore)
        self._worker_limits(mindspore)

    # -- the device -------------------------------------------------------------------------------------------------

    def _devices(self, mindspore: ModuleType) -> None:
        watch = self.hooks.watch
        reason = "not set: MindSpore takes the NPU where there is one"
        self.asked["device_target"] = Fact.unset("device_target", None, "", reason)
        self._builders = set(_codes())
        watch(mindspore, "set_context", self._set_context)
        watch(mindspore, "set_device", self._set_device)
        watch(mindspore, "get_context", self._get_context)
        watch(mindspore, "get_current_device", self._current_device)
        watch(mindspore.train.Model, "build", self._not_here("Model.build"))
        watch(mindspore.train.Model, "infer_train_layout", self._not_here("Model.infer_train_layout"))

    def _set_context(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        target = kwargs.get("device_target")
        if target is not None:
            self._takes(target)
        if target in _DEVICES:
            del kwargs["device_target"]
        return original(*args, **kwargs)

    def _set_device(self, original: Any, device_target: Any, device_id: Any = None) -> Any:
        self._takes(device_target)
        return None if device_target in _DEVICES else original(device_target, device_id)

    def _takes(self, target: str) -> None:
        self.device = target
        self.asked["device_target"] = Fact("device_target", target, site.caller())
        self._tell_default()

    def _get_context(self, original: Any, attr_key: str) -> Any:
        """The program hears of the device it asked for, and so does what builds networks for it.

        All else in MindSpore must know where it is: the cells can be made on a CPU, but would not run there.
        """
        frame = site.calling_frame() if attr_key == "device_target" else None
        if frame and (site.is_users(frame) or frame.f_code in self._builders):
            return self.device
        return original(attr_key)

    def _current_device(self, original: Any) -> Any:
        device = original()
        frame = site.calling_frame()
        return type(device)(self.device, device.device_id) if frame and site.is_users(frame) else device

    def _not_here(self, name: str) -> Callable[..., None]:
        """Calls that need the device and only prepare the training."""

        def skipped(original: Any, *args: Any, **kwargs: Any) -> None:
            self.seen.note(f"{name} at {site.caller()} needs an NPU and was passed over")

        return skipped

    # -- workers ----------------------------------------------------------------------------------------------------

    def _worker_limits(self, mindspore: ModuleType) -> None:
        """MindSpore refuses more workers than this machine has threads, in Python and again when a tree is built."""
        data = mindspore.dataset
        self._unset = data.config.get_num_parallel_workers()
        self._tell_default()
        helpers = importlib.import_module("mindspore.dataset.core.validator_helpers")
        self.hooks.watch(helpers, "check_num_parallel_workers", self._check_workers)
        self.hooks.watch(data.config, "set_num_parallel_workers", self._set_workers)
        self.hooks.watch(data.config, "get_num_parallel_workers", self._get_workers)
        self.hooks.watch(data.config, "load", self._load)
        self.hooks.watch(data.Dataset, "create_ir_tree", self._build)

    def _check_workers(self, original: Any, value: Any) -> Any:
        try:
            return original(value)
        except ValueError:
            if value < 1:
                raise
            return None

    def _set_workers(self, original: Any, num: Any) -> Any:
        result = original(self._threads if type(num) is int and num > self._threads else num)
        self._defaults_to(num, site.caller())
        return result

    def _get_workers(self, original: Any) -> Any:
        frame = site.calling_frame()
        return self._default() if frame and _is_reader(frame) else original()

    def _load(self, original: Any, file: Any) -> Any:
        """A file sets it among other things; all of it is refused where the number is too large for this machine."""
        settings = _settings(file)
        number = settings.get(_KEY)
        if type(number) is not int:
            return original(file)
        with NamedTemporaryFile("w", suffix=".json") as clamped:
            json.dump({**settings, _KEY: min(number, self._threads)}, clamped)
            clamped.flush()
            result = original(clamped.name)
        self._defaults_to(number, site.caller())
        return result

    def _default(self) -> int:
        return self._workers or (self._unset if self.device == "CPU" else _WORKERS)

    def _defaults_to(self, number: int, place: str) -> None:
        self._workers = number
        self.asked[DEFAULT_WORKERS] = Fact(DEFAULT_WORKERS, number, place)

    def _tell_default(self) -> None:
        """The workers of operations that name none, while the program has not set them for all."""
        if self._workers is None:
            self.asked.pop(DEFAULT_WORKERS, None)
        if self._workers is None and self.device != "CPU":
            reason = f"MindSpore's default where the host has so many threads; this machine has {self._threads}"
            self.asked[DEFAULT_WORKERS] = Fact.unset(DEFAULT_WORKERS, _WORKERS, "mindspore.dataset.config", reason)

    def _build(self, original: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        with self._clamped(dataset):
            return original(dataset, *args, **kwargs)

    @contextmanager
    def _clamped(self, dataset: Any) -> Iterator[None]:
        asked = self._too_many(dataset)
        for node in asked:
            node.num_parallel_workers = self._threads
        self.seen.note(self.clamping(dataset) if asked else "")
        try:
            yield
        finally:
            for node, number in asked.items():
                node.num_parallel_workers = number

    def clamping(self, dataset: Any) -> str:
        """What is to be said of reading this pipeline here; empty where it runs as it was asked for."""
        by_default = self._default() > self._threads and any(tree.takes_default(node) for node in _nodes(dataset))
        if not by_default and not self._too_many(dataset):
            return ""
        return f"workers were clamped to the {self._threads} threads of this machine wherever data was read here"

    def _too_many(self, dataset: Any) -> dict[Any, int]:
        return {
            node: node.num_parallel_workers
            for node in _nodes(dataset)
            if (getattr(node, "num_parallel_workers", None) or 0) > self._threads
        }


def _codes() -> Iterator[CodeType]:
    """The code of ``_REFUSE_A_CPU``, as far as this version has it."""
    for module, path in _REFUSE_A_CPU:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name, None)
        if found is not None:
            yield inspect.unwrap(found).__code__


def _settings(file: Any) -> dict[str, Any]:
    """What a file for ``mindspore.dataset.config.load`` holds; nothing where MindSpore is to say what is wrong."""
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_reader(frame: Any) -> bool:
    """The program, or what reads its tree; not MindSpore, which must not start more than it can."""
    return site.is_users(frame) or not str(frame.f_globals.get("__name__", "")).startswith("mindspore")


def _nodes(dataset: Any) -> Iterator[Any]:
    yield dataset
    for child in getattr(dataset, "children", ()):
        yield from _nodes(child)
