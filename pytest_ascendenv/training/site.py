"""Where in the user's code something was called."""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from pytest_ascendenv.training import mailbox

_OURS = "pytest_ascendenv"
WITH_VALUE = ("-W", "-X")
"""Options of Python that take the next word."""
_NOT_USERS = {"mindspore", "_pytest", "pluggy", *sys.stdlib_module_names} - {"__main__"}


def caller() -> str:
    """``file.py:line`` of the innermost frame that is neither MindSpore's, the standard library's nor ours, or ""."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return place(frame.f_code.co_filename, frame.f_lineno) if frame else ""


def is_users(frame: FrameType) -> bool:
    top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return top not in _NOT_USERS and top != _OURS


def calling_frame() -> FrameType | None:
    """The innermost frame that is not ours: who called a function that is watched."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    # A trampoline runs with the globals of the function it stands for.
    return frame.f_back if frame is not None and frame.f_code.co_filename.startswith(_HERE) else frame


def of_function(function: Any) -> str:
    """Where a function was written."""
    code: CodeType | None = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else ""


def place(file: str, line: int, here: str = "") -> str:
    """A file below the working directory is named from there; in a captured program from where that was started."""
    start = (here or _STARTED_IN or os.getcwd()) + os.sep
    return f"{file[len(start) :] if file.startswith(start) else file}:{line}"


def is_own(file: str) -> bool:
    """Whether a file belongs to the program, not to Python, to an installed package or to us."""
    path = os.path.abspath(file)
    installed = f"{os.sep}site-packages{os.sep}" in path or any(path.startswith(top + os.sep) for top in _INSTALLED)
    return os.path.exists(path) and not installed


def last_statement(file: str) -> str:
    """The last line of a program that came to its end; inside ``if __name__ == "__main__":`` where that is last."""
    try:
        body = ast.parse(Path(file).read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError):
        return file
    while body and isinstance(body[-1], ast.If) and "__name__" in ast.unparse(body[-1].test):
        body = body[-1].body
    return place(file, body[-1].lineno) if body else file


def main_file(started_in: str) -> str:
    """The file of the program; Python takes ``__main__.__file__`` away before the program's last words."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    words = sys.orig_argv[1:]
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in WITH_VALUE else 1]
    return os.path.join(started_in, (spec.origin if spec is not None else "".join(words[:1])) or "")


_STARTED_IN = os.getcwd() if mailbox.VARIABLE in os.environ else ""  # a program may move away
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSTALLED = {
    os.path.abspath(path)
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(_HERE.rstrip(os.sep)),
    )
}
