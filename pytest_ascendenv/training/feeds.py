"""The data that is taken before a step: which dataset feeds it, in the thread that took the batch."""

from __future__ import annotations

import importlib
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from pytest_ascendenv.training import calls, dataset, read, site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import DatasetSeen, Observation
from pytest_ascendenv.training.setups import Thread
from pytest_ascendenv.training.sinking import Queues
from pytest_ascendenv.verdict import Unknown

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

Fed = tuple[DatasetSeen | None, Any, read.Facts | None]
"""What was seen of a dataset, the dataset itself, and the sink that a ``DatasetHelper`` was asked for."""


class Feeds:
    """``device`` says which one is meant, as a sink acts on some only; ``queues`` are there where it is not here."""

    queues: Queues | None = None

    def __init__(self, seen: Observation, hooks: Hooks, here: Thread, device: Callable[[], str]) -> None:
        self.seen = seen
        self.hooks = hooks
        self._here = here
        self._device = device
        self._sources: weakref.WeakKeyDictionary[Any, Fed] = weakref.WeakKeyDictionary()

    def install(self, mindspore: types.ModuleType) -> None:
        watch, engine = self.hooks.watch, mindspore.dataset
        for name in ("create_tuple_iterator", "create_dict_iterator"):
            watch(engine.Dataset, name, self._iterates)
        iterators = importlib.import_module("mindspore.dataset.engine.iterators")
        watch(iterators.Iterator, "__next__", self._fetches)
        if hasattr(engine, "dataloader"):  # 2.9 and later
            watch(engine.dataloader.DataLoader, "__iter__", self._iterates)
            loaders = importlib.import_module("mindspore.dataset.dataloader.dataloader")
            watch(getattr(loaders, "_Iterator", None), "__next__", self._fetches)
        watch(mindspore.DatasetHelper, "__init__", self._helper)
        watch(mindspore.DatasetHelper, "__iter__", self._epoch)

    def walk(self, data: Any) -> tuple[dataset.Operation, ...] | None:
        try:
            return dataset.walk(data)
        except Unknown:
            return None
        except Exception as error:
            self.seen.unread.append(calls.unread("a dataset", error))
            return None

    def take(self, source: Any) -> None:
        """What comes next in this thread is fed by this iterator or ``DatasetHelper``."""
        if source in self._sources:
            self._here.fed_by, self._here.live, self._here.sink = self._sources[source]

    def _iterates(self, original: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        iterator = original(data, *args, **kwargs)
        operations = None if self._here.depth else self.walk(data)
        if operations is not None:
            self._sources[iterator] = (self._saw(operations), data, None)
        return iterator

    def _fetches(self, original: Any, iterator: Any) -> Any:
        if not self._here.depth:
            self.take(iterator)
        return original(iterator)

    def _helper(self, original: Any, helper: Any, *args: Any, **kwargs: Any) -> Any:
        """Trainers that drive ``DatasetHelper`` themselves: the step that follows is fed by it."""
        bound = None if self._here.depth else calls.bind(original, (helper, *args), kwargs)
        if bound is not None:
            self._sources[helper] = self._fed(bound, calls.given(original, (helper, *args), kwargs))
            self.take(helper)
            if self.queues is not None and self.queues.opens(bound):
                return None
        with self._here.deeper():
            return original(helper, *args, **kwargs)

    def _fed(self, bound: Mapping[str, Any], given: set[str]) -> Fed:
        asked, size, here = bound["dataset_sink_mode"], bound.get("sink_size"), site.caller()
        operations = self.walk(bound["dataset"])
        sink = read.sink(asked, size, here, self._device(), "dataset_sink_mode" in given)
        return (self._saw(operations) if operations is not None else None, bound["dataset"], sink)

    def _epoch(self, original: Any, helper: Any) -> Any:
        """Of several helpers that which is iterated counts, not that which was built last."""
        if not self._here.depth:
            self.take(helper)
        return original(helper)

    def _saw(self, operations: tuple[dataset.Operation, ...]) -> DatasetSeen:
        seen = DatasetSeen(site.caller(), operations)
        self.seen.datasets.append(seen)
        return seen
