"""A call that is watched, and the things it names, in words."""

from __future__ import annotations

import inspect
from typing import Any

from pytest_ascendenv.training import site


def bind(function: Any, args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The arguments by name with the defaults; None where the call is wrong, which MindSpore will say itself."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


def given(function: Any, args: Any, kwargs: Any) -> set[str]:
    """The names of the arguments that a call gives itself."""
    return set(inspect.signature(function).bind(*args, **kwargs).arguments)


def inner(after_grad: Any) -> Any:
    """The user's function inside what ``value_and_grad`` returned."""
    found = inspect.getclosurevars(after_grad).nonlocals.get("fn", after_grad)
    return inner(found) if getattr(found, "__name__", "") == "aux_fn" else found


def name(found: Any) -> str:
    if getattr(found, "__name__", "") == "aux_fn":
        found = inner(found)
    return str(getattr(found, "__qualname__", type(found).__name__)).replace("<locals>.", "")


def names_of(callbacks: Any) -> list[str]:
    several = callbacks if isinstance(callbacks, list | tuple) else [] if callbacks is None else [callbacks]
    return [type(callback).__name__ for callback in several]


def unread(what: str, error: BaseException) -> str:
    """What is said of a call that was seen but not understood."""
    return f"{what} at {site.caller()} could not be read: {describe(error)}"


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
