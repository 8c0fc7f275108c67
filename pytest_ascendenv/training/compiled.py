"""What of a training call is compiled by ``@jit``, and the level at which it is compiled."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_ascendenv.training import bytecode, calls, cells, reach, site
from pytest_ascendenv.training.reach import Reach
from pytest_ascendenv.training.record import GRAPH, Jitted
from pytest_ascendenv.verdict import Fact

Configs = Iterable[tuple[Mapping[str, Any], str]]
"""The configurations that ``Cell.set_jit_config`` gave to cells, each with its call site."""


def jitted(found: Reach) -> Jitted:
    """What ``@jit`` covers of a step that calls other functions."""
    whole = any(reach.of(function).whole_step for function in found.jitted)
    return Jitted(tuple(calls.name(function) for function in found.jitted), whole)


def level(config: Mapping[str, Any] | None, where: str) -> Fact | None:
    """The level of one compilation; None where it is left to the context.

    ``@jit`` alone puts "O0" there, since 2.9 without a backend, and then MindSpore takes the level of the context
    (``MsContext::GetJitLevel``).
    """
    found = (config or {}).get("jit_level", "")
    if not found or (found == "O0" and not (config or {}).get("backend")):
        return None
    return Fact("jit_level", found, where)


def level_of_cell(cell: Any, mode: str, configs: Configs) -> Fact | None:
    """Of a cell that is called in graph mode: its own counts, not those of cells below; wrappers take it over."""
    config = getattr(cell, "jit_config_dict", None) if cells.is_cell(cell) and mode == GRAPH else None
    return level(config, next((place for one, place in configs if one is config), "JitConfig"))


def level_of_functions(functions: Iterable[Any]) -> Fact | None:
    """Of functions that ``@jit`` wraps: the first that has a level of its own."""
    return next(filter(None, map(_level_of_function, functions)), None)


def _level_of_function(function: Any) -> Fact | None:
    config = bytecode.closure(function).get("jit_config") if inspect.isfunction(function) else None
    return level(getattr(config, "jit_config_dict", None), site.of_function(function))
