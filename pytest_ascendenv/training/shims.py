"""On a CPU machine: let pass what a captured program asks of Ascend, and keep what it asked.

None of it is installed where MindSpore runs on an NPU, except that no communication group is waited for: a captured
program is one process, and the others of its job never come.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from pytest_ascendenv.training import site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation
from pytest_ascendenv.verdict import Fact

_DEVICES = ("Ascend", "GPU")
RANK_VARIABLES = ("RANK_SIZE", "MS_WORKER_NUM", "DEVICE_NUM")
"""What msrun, rank tables and older launchers set to the size of the job."""


class Shims:
    """``asked`` holds the facts that this machine cannot have but the program asked for."""

    def __init__(self, seen: Observation, hooks: Hooks, ranks: int | None = None) -> None:
        self.seen = seen
        self.hooks = hooks
        self.ranks = ranks
        self.asked: dict[str, Fact] = {}
        self.device = "Ascend"
        self._workers: int | None = None

    def install(self, mindspore: ModuleType) -> None:
        self._communication(mindspore)
        if mindspore.get_context("device_target") != "CPU":
            return
        self._devices(mindspore)
        self._worker_limits(mindspore)

    # -- the device -------------------------------------------------------------------------------------------------

    def _devices(self, mindspore: ModuleType) -> None:
        watch = self.hooks.watch
        reason = "not set: MindSpore takes the NPU where there is one"
        self.asked["device_target"] = Fact.unset("device_target", None, "", reason)
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

    def _get_context(self, original: Any, key: str) -> Any:
        """The program hears of the device it asked for; MindSpore itself must know where it is.

        Building a network for training refuses dynamic loss scale on a CPU; the cells themselves can be made there.
        """
        frame = site.calling_frame() if key == "device_target" else None
        if frame and (site.is_users(frame) or frame.f_code.co_name == "build_train_network"):
            return self.device
        return original(key)

    def _current_device(self, original: Any) -> Any:
        device = original()
        frame = site.calling_frame()
        return type(device)(self.device, device.device_id) if frame and site.is_users(frame) else device

    def _not_here(self, name: str) -> Callable[..., None]:
        """Calls that need the device and only prepare the training."""

        def skipped(original: Any, *args: Any, **kwargs: Any) -> None:
            self._note(f"{name} at {site.caller()} needs an NPU and was passed over")

        return skipped

    # -- workers ----------------------------------------------------------------------------------------------------

    def _worker_limits(self, mindspore: ModuleType) -> None:
        """MindSpore refuses more workers than this machine has threads, in Python and again when a tree is built."""
        data = mindspore.dataset
        helpers = importlib.import_module("mindspore.dataset.core.validator_helpers")
        self.hooks.watch(helpers, "check_num_parallel_workers", self._check_workers)
        self.hooks.watch(data.config, "set_num_parallel_workers", self._set_workers)
        self.hooks.watch(data.config, "get_num_parallel_workers", self._get_workers)
        self.hooks.watch(data.Dataset, "create_ir_tree", self._build)

    def _check_workers(self, original: Any, value: Any) -> Any:
        try:
            return original(value)
        except ValueError:
            if value < 1:
                raise
            return None

    def _set_workers(self, original: Any, number: Any) -> Any:
        threads = os.cpu_count() or 1
        self._workers = number if isinstance(number, int) and number > threads else None
        return original(threads if self._workers else number)

    def _get_workers(self, original: Any) -> Any:
        frame = site.calling_frame()
        return self._workers if self._workers and frame and _is_reader(frame) else original()

    def _build(self, original: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        with self._clamped(dataset):
            return original(dataset, *args, **kwargs)

    @contextmanager
    def _clamped(self, dataset: Any) -> Iterator[None]:
        asked = self._too_many(dataset)
        for node in asked:
            node.num_parallel_workers = os.cpu_count() or 1
        self._note(self.clamping(dataset) if asked else "")
        try:
            yield
        finally:
            for node, number in asked.items():
                node.num_parallel_workers = number

    def clamping(self, dataset: Any) -> str:
        """What is to be said of reading this pipeline here; empty where it runs as it was asked for."""
        threads = os.cpu_count() or 1
        if self._workers is None and not self._too_many(dataset):
            return ""
        return f"workers were clamped to the {threads} threads of this machine wherever data was read here"

    def _too_many(self, dataset: Any) -> dict[Any, int]:
        threads = os.cpu_count() or 1
        return {
            node: node.num_parallel_workers
            for node in _nodes(dataset)
            if (getattr(node, "num_parallel_workers", None) or 0) > threads
        }

    # -- the communication group ------------------------------------------------------------------------------------

    def _communication(self, mindspore: ModuleType) -> None:
        management = importlib.import_module("mindspore.communication.management")
        helper = importlib.import_module("mindspore.mint.distributed")
        for owner, name in ((management, "init"), (helper, "init_process_group")):
            self.hooks.watch(owner, name, self._init)
        sizes = {"get_rank": 0, "get_local_rank": 0, "get_group_size": None, "get_world_size": None}
        for name, number in {**sizes, "get_local_rank_size": None}.items():
            for owner in (management, helper):
                self.hooks.watch(owner, name, self._answer(number))
        for name in ("create_group", "destroy_group", "release"):
            self.hooks.watch(management, name, self._answer_nothing)

    def _init(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self.asked["ranks"] = self._size(site.caller())
        self._note(f"init() of the communication group at {site.caller()} was answered here as rank 0 of {self.size}")

    def _size(self, here: str) -> Fact:
        if self.ranks is not None:
            return Fact("ranks", self.ranks, "settings: ranks")
        name = _rank_variable(os.environ)
        if name:
            return Fact("ranks", int(os.environ[name]), f"environment variable {name}")
        return Fact.unknown("ranks", "init() was called, but how many ranks there are is not declared: ranks = …", here)

    @property
    def size(self) -> int:
        return int(self._size("").value or 1)

    def _answer(self, number: int | None) -> Callable[..., Any]:
        def answer(original: Any, *args: Any, **kwargs: Any) -> Any:
            if "ranks" not in self.asked:
                return original(*args, **kwargs)
            return self.size if number is None else number

        return answer

    def _answer_nothing(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        return None if "ranks" in self.asked else original(*args, **kwargs)

    def _note(self, text: str) -> None:
        if text and text not in self.seen.notes:
            self.seen.notes.append(text)


def _rank_variable(environ: Mapping[str, str]) -> str:
    return next((name for name in RANK_VARIABLES if environ.get(name, "").isdigit()), "")


def _is_reader(frame: Any) -> bool:
    """The program, or what reads its tree; not MindSpore, which must not start more than it can."""
    return site.is_users(frame) or not str(frame.f_globals.get("__name__", "")).startswith("mindspore")


def _nodes(dataset: Any) -> Iterator[Any]:
    yield dataset
    for child in getattr(dataset, "children", ()):
        yield from _nodes(child)
