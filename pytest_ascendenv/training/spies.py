"""The calls of MindSpore that are watched, and what each of them tells."""

from __future__ import annotations

import functools
import importlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from pytest_ascendenv.training import amp, calls, cells, compiled, dataset, reach, read, site
from pytest_ascendenv.training.feeds import Feeds
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Jitted, Observation, TrainingCall
from pytest_ascendenv.training.setups import Setups, Thread
from pytest_ascendenv.training.sinking import Queues
from pytest_ascendenv.training.steps import Steps
from pytest_ascendenv.training.updates import Updates
from pytest_ascendenv.verdict import Fact

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

Stop = Callable[[Any], None]
"""Told of a training call before it runs, with the live dataset (None where it is not known)."""


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
        self._here = Thread()
        self._updates = Updates()
        self.setups = Setups(seen, hooks, self._here)
        self.feeds = Feeds(seen, hooks, self._here, self._device)
        self._steps: set[tuple[Any, ...]] = set()
        self._kinds: weakref.WeakKeyDictionary[Any, reach.Kind] = weakref.WeakKeyDictionary()
        self._bytecode: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

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
        for optimizer in cells.optimizers():
            self.hooks.inherit(optimizer, "__call__", self._optimizer)
        watch(nn.Cell, "compile_and_run", self._compiled_cell)
        watch(mindspore.ops.GradOperation, "__call__", self._gradient)
        watch(_private("mindspore.ops.composite.base", "_Grad"), "__call__", self._gradient)
        watch(_private(_api(), "_JitExecutor"), "__call__", self._jit)
        watch(_private(_api(), "PIJitCaptureContext"), "__enter__", self._captures)
        watch(_private(_api(), "PIJitCaptureContext"), "__exit__", self._captured)
        self.setups.install(mindspore)
        self.feeds.install(mindspore)
        if self.seen.captured and self.seen.on_cpu:
            self.feeds.queues = Queues(self.hooks, self._here, self._device, self._connected)
            self.feeds.queues.install(mindspore)

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
            with self._here.deeper():
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
        operations = self.feeds.walk(data)
        network = getattr(model, "train_network", None) or getattr(model, "_network", None)
        found = reach.of(network)
        precision = amp.read([network])
        asked = bound.get("dataset_sink_mode")
        facts = read.model(model, found, precision, self.setups.models.get(model, ""))
        facts |= read.sink(asked, bound.get("sink_size"), here, self._device(), "dataset_sink_mode" in given)
        facts["epochs"] = Fact("epochs", bound.get("epoch"), here)
        facts["callbacks"] = Fact("callbacks", calls.names_of(bound.get("callbacks")), here)
        level = self._level_of_cell(network) or compiled.level_of_functions(found.jitted)
        return self._record(f"Model.{name}", here, facts, precision, compiled.jitted(found), operations, level)

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
        precision = amp.read(found.trained, found.marks) if found.networks else None
        facts = read.loop(found, precision, here) | read.data_sink(bound["sink_size"], here, self._device())
        config = bound.get("jit_config")
        level = compiled.level(getattr(config, "jit_config_dict", None), here)
        level = level or compiled.level_of_functions(found.jitted)
        whole = Jitted((calls.name(bound["fn"]),), found.whole_step)
        jitted = compiled.jitted(found) if config is None else whole
        return self._record("data_sink", here, facts, precision, jitted, self.feeds.walk(bound["dataset"]), level)

    def _one_step(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        with self._gradient_step(type(cell).__name__, cell):
            return original(cell, *args, **kwargs)

    def _compiled_cell(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        with self._called(cell, cell, type(_unwrapped(cell)).__name__):
            return original(cell, *args, **kwargs)

    def _connected(self, network: Any, helper: Any) -> AbstractContextManager[None]:
        """A network is called that takes its batch from a sink."""
        self.feeds.take(helper)
        return self._called(network, network, type(network).__name__)

    def _gradient(self, original: Any, grad: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Under PyNative the gradient of every step passes here a second time, marked as such."""
        result = original(grad, fn, *args, **kwargs)
        if self._here.depth or not getattr(grad, "pynative_", False):
            return result
        if not reach.is_by_weights(grad):
            self._updates.gradient(fn)
            return result
        with self._gradient_step(f"the gradient of {calls.name(fn)}", fn):
            return result

    def _jit(self, original: Any, executor: Any, *args: Any, **kwargs: Any) -> Any:
        function, owner = executor.fn, getattr(executor, "obj", None)
        if self._here.depth or self._kinds.get(function) is reach.Kind.OTHER:
            return original(executor, *args, **kwargs)
        target = types.MethodType(function, owner) if owner is not None else function
        own = function.__name__ == "after_grad"
        users = calls.inner(function) if own else function
        title = f"the gradient of {calls.name(users)}" if own else f"@jit {calls.name(function)}"
        level = compiled.level(getattr(executor, "jit_config_dict", None), site.of_function(users))
        with self._called(function, target, title, by_jit=not own, level=level):
            return original(executor, *args, **kwargs)

    def _captures(self, original: Any, context: Any) -> Any:
        """``@jit(capture_mode="bytecode")`` goes round Python where it compiles: it is seen at its start only."""
        level = compiled.level(context.config, site.of_function(context.fn))
        step = self._called(context.fn, context.fn, f"@jit {calls.name(context.fn)}", by_jit=True, level=level)
        step.__enter__()
        self._bytecode.setdefault(context, []).append(step)
        return original(context)

    def _captured(self, original: Any, context: Any, *raised: Any) -> Any:
        try:
            return original(context, *raised)
        finally:
            if self._bytecode.get(context):
                self._bytecode[context].pop().__exit__(*raised)

    def _optimizer(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        gradient = None if self._here.depth else self._updates.update()
        if gradient is None:
            return original(cell, *args, **kwargs)
        with self._step(f"the update by {type(cell).__name__}", cell, *gradient):
            return original(cell, *args, **kwargs)

    def _called(self, found: Any, target: Any, title: str, **how: Any) -> AbstractContextManager[None]:
        """Around a call that is compiled as a whole: a step of a training, or something else."""
        if self._here.depth:
            return nullcontext()
        kind = self._kind(found, target)
        if kind is reach.Kind.STEP:
            return self._gradient_step(title, target, **how)
        if kind is reach.Kind.GRADIENT:
            self._updates.gradient(target)
        if kind is reach.Kind.UPDATE and self._updates.pending:
            return self._step(title, target, *(self._updates.update() or ()), **how)
        return nullcontext()

    def _kind(self, found: Any, target: Any) -> reach.Kind:
        """Looked at once: a loop calls the same again and again."""
        if found not in self._kinds:
            self._kinds[found] = reach.of(target).kind
        return self._kinds[found]

    # -- recording --------------------------------------------------------------------------------------------------

    def _gradient_step(self, title: str, target: Any, **how: Any) -> AbstractContextManager[None]:
        if not self._here.depth:
            self._updates.step()
        return self._step(title, target, **how)

    @contextmanager
    def _step(self, title: str, *targets: Any, by_jit: bool = False, level: Fact | None = None) -> Iterator[None]:
        """A step of a hand-written loop counts once for each place and mode it runs in."""
        if self._here.depth:
            yield
            return
        key = (title, site.caller(), read.mode())
        make = self._repeated if key in self._steps else self._loop_call
        with self._call(make, title, targets, by_jit, level):
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

    def _loop_call(self, title: str, targets: tuple[Any, ...], by_jit: bool, level: Fact | None) -> TrainingCall:
        here = site.caller()
        found = reach.of(*targets)
        precision = amp.read(found.trained, found.marks) if found.networks else None
        facts = read.loop(found, precision, here) | (self._here.sink or read.no_sink(here))
        fed_by = self._here.fed_by
        jitted = compiled.jitted(found)
        if by_jit:
            alone = found if len(targets) == 1 else reach.of(targets[0])
            jitted = Jitted((title.removeprefix("@jit "),), alone.whole_step)
        level = level or self._level_of_cell(targets[0]) or compiled.level_of_functions(found.jitted)
        return self._record(title, here, facts, precision, jitted, fed_by.operations if fed_by else None, level)

    def _level_of_cell(self, cell: Any) -> Fact | None:
        return compiled.level_of_cell(cell, read.mode(), self.setups.jit_configs)

    def _record(
        self,
        function: str,
        here: str,
        facts: read.Facts,
        precision: amp.Precision | None,
        jitted: Jitted,
        operations: tuple[dataset.Operation, ...] | None,
        level: Fact | None,
    ) -> TrainingCall:
        facts = (
            read.context(self.setups.sites, here, self.seen.captured)
            | facts
            | read.dataset(operations, here)
            | read.ranks(here)
        )
        facts |= {name: fact for name, fact in self.asked.items() if _says_more(fact, facts.get(name))}
        facts |= {"jit_level": level} if level else {}
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
        with self._here.deeper():
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
            self.seen.unread.append(calls.unread("a training call", error))
            return None

    def _failed(self, call: TrainingCall, error: BaseException) -> None:
        told = replace(call, error=calls.describe(error))
        self.seen.calls[:] = [told if one is call else one for one in self.seen.calls]


def _api() -> str:
    """Where ``@jit`` lives: ``mindspore.graph.api`` since 2.9, ``mindspore.common.api`` before."""
    newer = "mindspore.graph.api"
    return newer if newer in sys.modules else "mindspore.common.api"


def _private(module: str, name: str) -> Any:
    """None where this version has no such thing; nothing is watched then."""
    return getattr(importlib.import_module(module), name, None)


def _unwrapped(cell: Any) -> Any:
    """The network that ``connect_network_with_dataset`` wrapped."""
    wrapper = getattr(sys.modules.get("mindspore.train.dataset_helper"), "_DataWrapper", ())
    return cell.network if isinstance(cell, wrapper) else cell


def _says_more(asked: Fact, read: Fact | None) -> bool:
    """What was asked stands, unless it is not known and MindSpore knows; a value of 1 only repeats what it was told."""
    return asked.status != "unknown" or read is None or read.status != "known" or read.value == 1
