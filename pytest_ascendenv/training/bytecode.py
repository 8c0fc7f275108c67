"""What the code of a function refers to: names, closed-over values and attributes of modules; nothing is called."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from typing import Any

_NEUTRAL = {"CACHE", "EXTENDED_ARG", "PUSH_NULL", "COPY_FREE_VARS", "SWAP", "ROT_TWO", "POP_TOP"}
"""Instructions between the parts of ``a.b.c`` that leave the value in hand where it is."""


def closure(function: types.FunctionType) -> dict[str, Any]:
    """The free variables that are bound by now."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


def names(function: types.FunctionType) -> set[str]:
    """The names that its code and the functions inside it use."""
    return {name for code in _codes(function.__code__) for name in code.co_names}


def of_modules(function: types.FunctionType) -> Iterator[Any]:
    """What it takes from modules: ``ms.ops.grad``, or ``from mindspore import grad`` inside of it."""
    variables = closure(function)
    for code in _codes(function.__code__):
        yield from _Reader(function.__globals__, variables).read(code)


class _Reader:
    """Follows ``module.attribute`` through one code; ``variables`` are the local and free ones known to be modules."""

    def __init__(self, names: dict[str, Any], variables: dict[str, Any]) -> None:
        self.names = names
        self.variables = variables
        self.package: types.ModuleType | None = None

    def read(self, code: types.CodeType) -> Iterator[Any]:
        module: Any = None
        before: Any = None
        for step in dis.get_instructions(code):
            found = module if step.opname in _NEUTRAL else self._after(step, module, before)
            if found is not None and not isinstance(found, types.ModuleType):
                yield found
            module, before = _module(found), step.argval

    def _after(self, step: dis.Instruction, module: Any, before: Any) -> Any:
        """What an instruction leaves on the stack, as far as modules lead there."""
        kind, name = step.opname, step.argval
        if kind == "IMPORT_NAME":  # preceded by the names asked for: with none, the top package is what is bound
            self.package = sys.modules.get(name if before else name.partition(".")[0])
            return self.package
        if kind == "IMPORT_FROM":
            return vars(self.package).get(name) if self.package else None
        if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
            return _module(self.names.get(name))
        if kind.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")):
            return _module(self.variables.get(name))
        if kind in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            return vars(module).get(name)
        if kind in ("STORE_FAST", "STORE_DEREF") and module is not None:
            self.variables[name] = module
        return None


def _module(found: Any) -> types.ModuleType | None:
    return found if isinstance(found, types.ModuleType) else None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _codes(part)
