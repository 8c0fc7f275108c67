"""What ``faulthandler`` wrote about a program that hung or died."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pytest_ascendenv.training import site

_FRAME = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+) in ')


class Frozen(NamedTuple):
    """``place`` is the innermost line of the program's own; ``fatal`` the signal's name where it died of one."""

    place: str
    fatal: str


def last_own_line(file: Path, here: Path) -> Frozen:
    """The main thread is written last, its innermost frame first; a dying thread comes first as "Current thread"."""
    text = file.read_text(errors="replace") if file.exists() else ""
    fatal = re.search(r"^Fatal Python error: (.+)$", text, re.MULTILINE)
    threads = text.split("hread 0x")[1:]
    order = threads if fatal else reversed(threads)
    return Frozen(next(filter(None, (_own(thread, here) for thread in order)), ""), fatal[1] if fatal else "")


def _own(thread: str, here: Path) -> str:
    for frame in _FRAME.finditer(thread):
        if site.is_own(frame["file"]):
            return site.place(frame["file"], int(frame["line"]), str(here))
    return ""
