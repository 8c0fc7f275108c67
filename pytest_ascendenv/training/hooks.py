"""Watch calls of functions that others already hold, and undo all of it.

A program that said ``from mindspore.amp import auto_mixed_precision`` before we came holds the function object, and a
test may put its own double in place of ``Model.train`` and later put back what it found there. So nothing is rebound
where that can be helped: the function stays the same object and only its code is exchanged for a trampoline.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

Handler = Callable[..., Any]
"""Called as ``handler(original, *args, **kwargs)`` in place of the original."""


class _Watched:
    """One function whose code can be exchanged; kept for good, so that a late thread still finds its way."""

    def __init__(self, function: types.FunctionType, number: int) -> None:
        self.function = function
        self.code = function.__code__
        self.handler: Handler | None = None
        self.original = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self.original.__qualname__ = function.__qualname__
        self.trampoline = _trampoline(function.__code__, number)
        self.signature = inspect.signature(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.handler is None:
            return self.original(*args, **kwargs)
        return self.handler(self.original, *args, **kwargs)


_watched: list[_Watched] = []
_numbers: dict[types.FunctionType, int] = {}


def dispatch(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Where every trampoline lands."""
    return _watched[number](*args, **kwargs)


def _trampoline(code: types.CodeType, number: int) -> types.CodeType:
    """Code that takes anything and hands it to ``dispatch``, with the free variables of the code it replaces.

    It keeps the code of the functions inside: MindSpore looks there for ``after_grad`` before it captures bytecode.
    """
    free = ", ".join(code.co_freevars)
    source = f"""
def outer({free}):
    def {code.co_name if code.co_name.isidentifier() else "call"}(*args, **kwargs):
        {f"({free},)" if free else "pass"}
        __tracebackhide__ = True
        from pytest_ascendenv.training.hooks import dispatch
        return dispatch({number}, args, kwargs)
"""
    outer = next(part for part in compile(source, __file__, "exec").co_consts if isinstance(part, types.CodeType))
    made = next(part for part in outer.co_consts if isinstance(part, types.CodeType))
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return made.replace(co_consts=(*made.co_consts, *inner))


def _over(handler: Handler, under: Handler, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function watched twice: the later handler takes the earlier one for the original."""
    return handler(functools.partial(under, original), *args, **kwargs)


class Hooks:
    """Everything that was exchanged; ``close`` puts it back, last first. For use in a ``with``."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Hooks:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        while self._undo:
            self._undo.pop()()

    def watch(self, owner: Any, name: str, handler: Handler) -> bool:
        """Let ``handler`` answer the calls of ``owner.name``; False where this version has no such thing."""
        found = getattr(owner, name, None)
        if isinstance(found, types.FunctionType):
            self._exchange(found, handler)
        elif callable(found):
            self._rebind(owner, name, found, handler)
        return found is not None

    def inherit(self, cls: type, name: str, handler: Handler) -> None:
        """Watch a method that ``cls`` inherits, for this class and below only."""
        if name in vars(cls):
            self.watch(cls, name, handler)
            return
        inherited = getattr(cls, name)
        live = [True]

        @functools.wraps(inherited)
        def method(*args: Any, **kwargs: Any) -> Any:
            return handler(inherited, *args, **kwargs) if live else inherited(*args, **kwargs)

        setattr(cls, name, method)
        self._undo += [live.clear, lambda: delattr(cls, name)]

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Rebind an attribute that exists."""
        before = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def when_imported(self, name: str, callback: Callable[[types.ModuleType], None]) -> None:
        """Call back with the module: now if it is loaded, else right after somebody imports it."""
        module = sys.modules.get(name)
        if module is not None:
            callback(module)
            return
        finder = _AfterImport(name, callback)
        sys.meta_path.insert(0, finder)
        self._undo.append(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)

    def _exchange(self, function: types.FunctionType, handler: Handler) -> None:
        if function not in _numbers:
            _watched.append(_Watched(function, len(_watched)))
            _numbers[function] = len(_watched) - 1
        watched = _watched[_numbers[function]]
        before = (watched.handler, function.__code__, vars(function).get("__signature__"))

        def undo() -> None:
            watched.handler, function.__code__, signature = before
            if signature is None:
                vars(function).pop("__signature__", None)
            else:
                vars(function)["__signature__"] = signature

        watched.handler = handler if watched.handler is None else functools.partial(_over, handler, watched.handler)
        function.__code__ = watched.trampoline
        vars(function).setdefault("__signature__", watched.signature)
        self._undo.append(undo)

    def _rebind(self, owner: Any, name: str, found: Callable[..., Any], handler: Handler) -> None:
        live = [True]

        @functools.wraps(found)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return handler(found, *args, **kwargs) if live else found(*args, **kwargs)

        self.set(owner, name, wrapper)
        self._undo.append(live.clear)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds the module as the others do and calls back once it was executed; the loader keeps no trace of it."""

    def __init__(self, name: str, callback: Callable[[types.ModuleType], None]) -> None:
        self.name = name
        self.callback = callback

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        loader = spec.loader if spec else None
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            execute(module)
            self.callback(module)

        vars(loader)["exec_module"] = exec_module
        return spec
