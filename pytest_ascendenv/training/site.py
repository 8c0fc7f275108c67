"""Where in the user's code something was called."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

_OURS = "pytest_ascendenv."
_NOT_USERS = ("mindspore", "contextlib", "functools", "threading", "runpy", "importlib", "_frozen_importlib")


def caller() -> str:
    """``file.py:line`` of the innermost frame that belongs to neither MindSpore nor us; empty if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return place(frame.f_code.co_filename, frame.f_lineno) if frame else ""


def is_users(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] not in _NOT_USERS and not module.startswith(_OURS)


def of_function(function: Any) -> str:
    """Where a function was written."""
    code: CodeType | None = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else ""


def place(file: str, line: int) -> str:
    """A file below the working directory is named from there."""
    here = os.getcwd() + os.sep
    return f"{file[len(here) :] if file.startswith(here) else file}:{line}"
