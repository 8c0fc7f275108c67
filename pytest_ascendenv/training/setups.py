"""What is set up before training: the context, how networks are cast, and how each ``Model`` is built."""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pytest_ascendenv.training import calls, site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import DatasetSeen, ModelRefused, Observation
from pytest_ascendenv.verdict import Fact

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line


class Thread(threading.local):
    """What one thread is in the middle of, and which data it took last."""

    depth = 0
    casting = 0
    fed_by: DatasetSeen | None = None
    live: Any = None
    sink: dict[str, Fact] | None = None

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """In here MindSpore calls itself."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


class Setups:
    """``sites`` tells where each key of the context was set, ``models`` where each ``Model`` was built and
    ``jit_configs`` where cells were given their own."""

    def __init__(self, seen: Observation, hooks: Hooks, here: Thread) -> None:
        self.seen = seen
        self.hooks = hooks
        self.sites: dict[str, str] = {}
        self.models: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.jit_configs: list[tuple[Mapping[str, Any], str]] = []
        self._here = here

    def install(self, mindspore: types.ModuleType) -> None:
        watch = self.hooks.watch
        watch(mindspore.train.Model, "__init__", self._model)
        watch(mindspore, "set_context", self._set_context)
        watch(mindspore, "set_device", self._set_device)
        watch(mindspore.nn.Cell, "set_jit_config", self._set_jit_config)
        watch(mindspore.nn.Cell, "to_float", functools.partial(self._cast, "to_float"))
        for name in ("auto_mixed_precision", "custom_mixed_precision"):
            watch(mindspore.amp, name, functools.partial(self._cast, name))

    def _model(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        here = site.caller()
        self.models[model] = here
        try:
            return original(model, *args, **kwargs)
        except Exception as error:
            bound = calls.bind(original, (model, *args), kwargs) or {}
            self.seen.refused.append(ModelRefused(here, str(bound.get("amp_level", "")), calls.describe(error)))
            raise

    def _cast(self, name: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        frame = site.calling_frame()
        if not self._here.casting and not self._here.depth and frame and site.is_users(frame):
            level = kwargs.get("amp_level", args[1] if len(args) > 1 else "")
            self.seen.casts.append(Fact(name, str(level), site.caller()))
        self._here.casting += 1
        try:
            return original(*args, **kwargs)
        finally:
            self._here.casting -= 1

    def _set_jit_config(self, original: Any, cell: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(cell, *args, **kwargs)
        self.jit_configs.append((cell.jit_config_dict, site.caller()))  # wrappers hold the very same object
        return result

    def _set_context(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not self._here.depth:
            self.sites.update(dict.fromkeys(kwargs, site.caller()))
        return result

    def _set_device(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        self.sites["device_target"] = site.caller()
        return result
