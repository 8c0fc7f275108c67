"""The user's own line in a traceback, in the text of one that a framework wrapped, or in a faulthandler dump."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

from pytest_ascendenv.pipeline.failures import Raised

_PACKAGE = str(Path(__file__).parent.parent)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_TEXT_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<name>.+?)\s*$', re.MULTILINE)
_TEXT_ERROR = re.compile(
    r"^(?:[\w.]+\.)?(?P<kind>\w+(?:Error|Exception|Interrupt|Exit|Warning|Iteration)): (?P<text>.*)$", re.M
)
_ENGINE_ERROR = re.compile(r"^\[ERROR\] (?P<text>.+)$", re.MULTILINE)


def is_users(file: str) -> bool:
    """Whether a source file is neither this package's, nor the standard library's, nor an installed one's."""
    if file.startswith(("<", _PACKAGE)):
        return False
    return "site-packages" not in file and "dist-packages" not in file and not file.startswith(_LIBRARIES)


def raised(error: BaseException) -> Raised:
    """An exception of the pipeline as text, with the user's line that raised it."""
    text = _text(error)
    wrapped = _wrapped(str(error))
    if wrapped is not None:
        kind, message, where = wrapped
    else:
        kind, message = type(error).__name__, _first_line(error)
        where = _innermost([(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)])
    return Raised(kind, message, where, text)


def _text(error: BaseException) -> str:
    """The traceback as Python writes it, without the frames of this package that read the pipeline."""
    shown: traceback.TracebackException | None = traceback.TracebackException.from_exception(error)
    first = shown
    while shown is not None:
        kept = [frame for frame in shown.stack if not frame.filename.startswith(_PACKAGE)]
        shown.stack = traceback.StackSummary.from_list(kept)
        shown = shown.__cause__ or shown.__context__
    return "".join(first.format()) if first else ""


def _wrapped(text: str) -> tuple[str, str, str] | None:
    """The exception that MindSpore or a loader's worker raised and put as a traceback into the text of another one."""
    frames = [(m["file"], int(m["line"]), m["name"]) for m in _TEXT_FRAME.finditer(text)]
    if not frames:
        return None
    last = list(_TEXT_FRAME.finditer(text))[-1].end()
    errors = _TEXT_ERROR.search(text, last)
    if errors is not None:
        return errors["kind"], errors["text"], _innermost(frames)
    # MindSpore's threads end the traceback with the source line and the exception of any name.
    tail = [line for line in text[last:].splitlines() if line and not line.startswith((" ", "-"))]
    kind, _, message = (tail[0] if tail else "an exception").partition(": ")
    return kind, message, _innermost(frames)


def _first_line(error: BaseException) -> str:
    engine = _ENGINE_ERROR.search(str(error))
    if engine is not None:
        return engine["text"]
    return (str(error).strip().splitlines() or [""])[0]


def _innermost(frames: list[tuple[str, int, str]]) -> str:
    """The innermost line of the user's; "" where there is none."""
    mine = [frame for frame in frames if is_users(frame[0])]
    if not mine:
        return ""
    file, line, name = mine[-1]
    return f"{Path(file).name}:{line} in {name}"


def stuck(dump: str) -> tuple[str, ...]:
    """Where the processes of a faulthandler dump stand in the user's code: the innermost line of each thread.

    The frames below this package's own are the test's, not the pipeline's: they are left out.
    """
    found: dict[str, None] = {}
    for block in re.split(r"(?m)^(?=(?:Current thread|Thread) )", dump):
        for match in _TEXT_FRAME.finditer(block):
            if match["file"].startswith(_PACKAGE):
                break
            if is_users(match["file"]):
                found[f"{Path(match['file']).name}:{match['line']} in {match['name']}"] = None
                break
    return tuple(found)
