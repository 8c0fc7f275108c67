"""The calls of MindSpore that are watched, and what each of them tells."""

from __future__ import annotations

import functools
import importlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pytest_ascendenv.training import amp, calls, dataset, reach, read, site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import DatasetSeen, Jitted, Observation, TrainingCall
from pytest_ascendenv.training.setups import Setups, Thread
from pytest_ascendenv.training.steps import Steps
from pytest_ascendenv.verdict import Fact, Unknown

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

Stop = Callable[[Any], None]
"""Told of a training call before it runs, with the live dataset (None where it is not known)."""


class _Thread(Thread):
    fed_by: DatasetSeen | None = None
    live: Any = None
    sink: read.Facts | None = None


class Spies:
    """Watches MindSpore for one observation.

    ``asked`` are facts that stand for what MindSpore would say of this machine, filled by others while it runs.
    """

    def __init__(
        self,
        seen: Observation,
        hooks: Hooks,
        stop: Stop | None = None,
        asked: Mapping[str, Fact] | None = None,
        steps: Steps | None = None,
    ) -> None:
        self.seen = seen
        self.hooks = hooks
        self.stop = stop
        self.asked = {} if asked is None else asked
        self.timed = steps
        self._here = _Thread()
        self.setups = Setups(seen, hooks, self._here)
        self._iterators: weakref.WeakKeyDictionary[Any, tuple[DatasetSeen, Any]] = weakref.WeakKeyDictionary()
        self._steps: set[tuple[Any, ...]] = set()
        self._no_steps: weakref.WeakSet[Any] = weakref.WeakSet()

    def install(self, mindspore: types.ModuleType) -> None:
        """Once ``mindspore`` is loaded, with all that its import brings along."""
        self.seen.on_cpu = read.device() == "CPU"
        watch, nn, train = self.hooks.watch, mindspore.nn, mindspore.train
        for name in ("train", "fit"):
            watch(train.Model, name, functools.partial(self._trains, name))
        for name in ("eval", "predict"):
            watch(train.Model, name, self._inside)
        watch(mindspore, "data_sink", self._data_sink)
        self.hooks.inherit(nn.TrainOneStepCell, "__call__", self._one_step)
        watch(nn.Cell, "compile_and_run", self._compiled_cell)
        watch(mindspore.ops.GradOperation, "__call__", self._gradient)
        for module, name in (("mindspore.ops.composite.base", "_Grad"), (_api(), "_JitExecutor")):
            owner = getattr(importlib.import_module(module), name, None)
            watch(owner, "__call__", self._gradient if name == "_Grad" else self._jit)
        self.setups.install(mindspore)
        self._watch_data(mindspore)

    def _watch_data(self, mindspore: types.ModuleType) -> None:
        watch, engine = self.hooks.watch, mindspore.dataset
        for name in ("create_tuple_iterator", "create_dict_iterator"):
            watch(engine.Dataset, name, self._iterates)
        iterators = importlib.import_module("mindspore.dataset.engine.iterators")
        watch(iterators.Iterator, "__next__", self._fetches)
        watch(mindspore.DatasetHelper, "__init__", self._helper)

    # -- calls that train -------------------------------------------------------------------------------------------

    def _trains(self, name: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._here.depth:
            return original(*args, **kwargs)
        with self._call(self._model_call, name, original, args, kwargs) as call:
            if call is not None and self.timed and self.timed.active:
                sinks = call.facts["sink_in_effect"].value is True
                args, kwargs = self.timed.of_model(original, args, kwargs, sinks)
            return original(*args, **kwargs)

    def _inside(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """An evaluation: what runs in it is no training, and its time is none of a step's."""
        timed = None if self._here.depth else self.timed
        if timed:
            timed.leaves()
        try:
            with self._deeper():
                return original(*args, **kwargs)
        finally:
            if timed:
                timed.returns()

    def _model_call(self, name: str, original: Any, args: Any, kwargs: Any) -> TrainingCall | None:
        bound = calls.bind(original, args, kwargs)
        if bound is None:
            return None
        given = calls.given(original, args, kwargs)
        model, data, here = bound["self"], bound.get("train_dataset"), site.caller()
        self._here.live = data
        operations = self._walk(data)
        network = getattr(model, "train_network", None) or getattr(model, "_network", None)
        found = reach.of(network)
        precision = amp.read([network])
        asked = bound.get("dataset_sink_mode")
        facts = read.model(model, precision, self.setups.models.get(model, ""))
        facts |= read.sink(asked, bound.get("sink_size"), here, self._device(), "dataset_sink_mode" in given)
        facts["epochs"] = Fact("epochs", bound.get("epoch"), here)
        facts["callbacks"] = Fact("callbacks", calls.names_of(bound.get("callbacks")), here)
        return self._record(f"Model.{name}", here, facts, precision, _jitted(found), operations)

    def _data_sink(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._here.depth:
            return original(*args, **kwargs)
        with self._call(self._sink_call, original, args, kwargs) as call:
            step = original(*args, **kwargs)
        if call is not None and self.timed and self.timed.active:
            return self.timed.of_sink(step, call.facts["sink_size"].value)
        return step

    def _sink_call(self, original: Any, args: Any, kwargs: Any) -> TrainingCall | None:
        bound = calls.bind(original, args, kwargs)
        if bound is None:
            return None
        here = site.caller()
        self._here.live = bound["dataset"]
        found = reach.of(bound["fn"])
        precision = amp.read(found.networks, found.marks) if found.networks else None
        facts = read.loop(found, precision, here) | read.data_sink(bound["sink_size"], here, self._device())
        whole = bound.get("jit_config") is not None
        jitted = Jitted((calls.name(bound["fn"]),), found.whole_step) if whole else _jitted(found)
        return self._record("data_sink", here, facts, precision, jitted, self._walk(bound["dataset"]))

    def _one_step(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        with self._step(type(cell).__name__, cell):
            return original(cell, *args, **kwargs)

    def _compiled_cell(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        if self._here.depth or cell in self._no_steps or not self._is_step(cell):
            return original(cell, *args, **kwargs)
        with self._step(type(cell).__name__, cell):
            return original(cell, *args, **kwargs)

    def _is_step(self, cell: Any) -> bool:
        found = reach.of(cell)
        if found.networks and found.whole_step:
            return True
        self._no_steps.add(cell)
        return False

    def _gradient(self, original: Any, grad: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Under PyNative the gradient of every step passes here a second time, marked as such."""
        result = original(grad, fn, *args, **kwargs)
        if self._here.depth or not getattr(grad, "pynative_", False):
            return result
        with self._step(f"the gradient of {calls.name(fn)}", fn):
            return result

    def _jit(self, original: Any, executor: Any, *args: Any, **kwargs: Any) -> Any:
        function = executor.fn
        owner = getattr(executor, "obj", None)
        if self._here.depth or function in self._no_steps:
            return original(executor, *args, **kwargs)
        target = types.MethodType(function, owner) if owner is not None else function
        if not reach.of(target).gradient:
            self._no_steps.add(function)
            return original(executor, *args, **kwargs)
        own = function.__name__ == "after_grad"
        title = f"the gradient of {calls.name(calls.inner(function))}" if own else f"@jit {calls.name(function)}"
        with self._step(title, target, by_jit=not own):
            return original(executor, *args, **kwargs)

    # -- recording --------------------------------------------------------------------------------------------------

    @contextmanager
    def _step(self, title: str, target: Any, by_jit: bool = False) -> Iterator[None]:
        """A step of a hand-written loop counts once for each place and mode it runs in."""
        if self._here.depth:
            yield
            return
        key = (title, site.caller(), read.mode())
        make = self._repeated if key in self._steps else self._loop_call
        with self._call(make, title, target, by_jit):
            self._steps.add(key)
            if self.timed and self.timed.active:
                self.timed.started(key, self._transfer())
            yield

    def _transfer(self) -> int:
        """Steps in one call of a step that fetches its batches itself, as under ``DatasetHelper`` with sink."""
        sink, live = self._here.sink, self._here.live
        if not sink or sink["sink_in_effect"].value is not True:
            return 1
        size = sink["sink_size"].value
        return int(size if size > 0 else live.get_dataset_size())

    def _repeated(self, *args: Any) -> None:
        return None

    def _loop_call(self, title: str, target: Any, by_jit: bool) -> TrainingCall:
        here = site.caller()
        found = reach.of(target)
        precision = amp.read(found.networks, found.marks) if found.networks else None
        facts = read.loop(found, precision, here) | (self._here.sink or read.no_sink(here))
        fed_by = self._here.fed_by
        jitted = Jitted((title.removeprefix("@jit "),), found.whole_step) if by_jit else _jitted(found)
        return self._record(title, here, facts, precision, jitted, fed_by.operations if fed_by else None)

    def _record(
        self,
        function: str,
        here: str,
        facts: read.Facts,
        precision: amp.Precision | None,
        jitted: Jitted,
        operations: tuple[dataset.Operation, ...] | None,
    ) -> TrainingCall:
        facts = (
            read.context(self.setups.sites, here, self.seen.captured)
            | facts
            | read.dataset(operations, here)
            | read.ranks(here)
        )
        facts |= {name: fact for name, fact in self.asked.items() if _says_more(fact, facts.get(name))}
        facts["training_call"] = Fact("training_call", function, here)
        return TrainingCall(function, here, facts, precision, jitted, operations)

    def _device(self) -> str:
        """The device that is meant: of a program captured on a CPU the NPU, unless it asks for something else."""
        if "device_target" not in self.asked:
            return read.device()
        return self.asked["device_target"].value or "Ascend"

    @contextmanager
    def _call(self, make: Callable[..., TrainingCall | None], *args: Any) -> Iterator[TrainingCall | None]:
        """Note a call before it runs, and afterwards what it raised."""
        call = self._made(make, *args)
        if call is not None:
            self.seen.calls.append(call)
        if self.stop and (call or self.seen.unread):
            self.stop(self._here.live)
        with self._deeper():
            try:
                yield call
            except BaseException as error:
                if call is not None:
                    self._failed(call, error)
                raise

    def _made(self, make: Callable[..., TrainingCall | None], *args: Any) -> TrainingCall | None:
        """A fault of ours must not become one of the program's."""
        try:
            return make(*args)
        except Exception as error:
            self._unread("a training call", error)
            return None

    def _unread(self, what: str, error: Exception) -> None:
        self.seen.unread.append(f"{what} at {site.caller()} could not be read: {calls.describe(error)}")

    def _walk(self, data: Any) -> tuple[dataset.Operation, ...] | None:
        try:
            return dataset.walk(data)
        except Unknown:
            return None
        except Exception as error:
            self._unread("a dataset", error)
            return None

    def _failed(self, call: TrainingCall, error: BaseException) -> None:
        told = replace(call, error=calls.describe(error))
        self.seen.calls[:] = [told if one is call else one for one in self.seen.calls]

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._here.depth += 1
        try:
            yield
        finally:
            self._here.depth -= 1

    # -- data --------------------------------------------------------------------------------------------------------

    def _iterates(self, original: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        iterator = original(data, *args, **kwargs)
        operations = None if self._here.depth else self._walk(data)
        if operations is not None:
            seen = DatasetSeen(site.caller(), operations)
            self.seen.datasets.append(seen)
            self._iterators[iterator] = (seen, data)
        return iterator

    def _fetches(self, original: Any, iterator: Any) -> Any:
        if not self._here.depth and iterator in self._iterators:
            self._here.fed_by, self._here.live = self._iterators[iterator]
            self._here.sink = None
        return original(iterator)

    def _helper(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Trainers that drive ``DatasetHelper`` themselves: the step that follows is fed by it."""
        bound = calls.bind(original, args, kwargs)
        if bound is not None and not self._here.depth:
            here, operations = site.caller(), self._walk(bound["dataset"])
            asked, given = bound["dataset_sink_mode"], "dataset_sink_mode" in calls.given(original, args, kwargs)
            self._here.sink = read.sink(asked, bound.get("sink_size"), here, self._device(), given)
            self._here.live = bound["dataset"]
            if operations is not None:
                self._here.fed_by = DatasetSeen(here, operations)
                self.seen.datasets.append(self._here.fed_by)
        with self._deeper():
            return original(*args, **kwargs)


def _api() -> str:
    """Where ``@jit`` lives: ``mindspore.graph.api`` since 2.9, ``mindspore.common.api`` before."""
    newer = "mindspore.graph.api"
    return newer if newer in sys.modules else "mindspore.common.api"


def _says_more(asked: Fact, read: Fact | None) -> bool:
    """What was asked stands, unless it is not known and MindSpore knows; a value of 1 only repeats what it was told."""
    return asked.status != "unknown" or read is None or read.status != "known" or read.value == 1


def _jitted(found: reach.Reach) -> Jitted:
    whole = any(reach.of(function).whole_step for function in found.jitted)
    return Jitted(tuple(calls.name(function) for function in found.jitted), whole)
