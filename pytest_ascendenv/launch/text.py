"""The text of a script as the reader needs it: decoded, with lines the parser would stumble over mended."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_ascendenv.verdict import Unknown

LARGEST = 2 * 1024 * 1024  # bytes; the largest public launch script is below 100 KiB

# A placeholder such as <master_ip> would be a redirection; these stand for its brackets, so that a word stays a word.
OPEN, CLOSE = "\ue000", "\ue001"
PLACEHOLDER = re.compile(
    r"(?<==)<([^<>\n|&;\"'`$()]{1,80})>"
    r"|(?<=[\s:/,])<([^\s<>|&;\"'`$()=](?:[^<>\n|&;\"'`$()=]{0,78}[^\s<>|&;\"'`$()=])?)>(?=[\s:/,\"'\\]|$)"
)
BLANK = "\ue002"


@dataclass(frozen=True)
class Source:
    """One file: its name as people wrote it, and its text."""

    name: str
    text: str
    notes: tuple[str, ...] = ()
    mended: str = ""  # why Bash takes this file otherwise than it is read here

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


def read(path: Path, name: str | None = None) -> Source:
    """A script or configuration; raises Unknown where it is missing, no regular file, or larger than the limit."""
    shown = name or str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Unknown(f"{shown}: {getattr(error, 'strerror', None) or error}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unknown(f"{shown}: not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise Unknown(f"{shown}: larger than {LARGEST // 1024 // 1024} MiB, so it is not read")
    return decode(data, shown)


def decode(data: bytes, name: str) -> Source:
    """UTF-8 with or without BOM, UTF-16 with BOM, else GB18030; CRLF becomes LF, with a note."""
    notes, mended = [], ""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", errors="replace")
        mended = f"{name} is UTF-16, which Bash does not run"
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("gb18030", errors="replace")
            notes.append(f"{name}: not UTF-8, read as GB18030")
    if data.startswith(b"\xef\xbb\xbf"):
        notes.append(f"{name}: begins with a byte order mark, which Bash takes as part of the first command")
        if text.split("\n", 1)[0].strip() and not text.startswith("#"):
            mended = f"{name} begins with a byte order mark, so Bash does not find its first command"
    if "\r\n" in text:
        notes.append(f"{name}: has Windows line ends (CRLF), on which Bash fails; read as if converted")
        mended = f"{name} has Windows line ends (CRLF): in Bash values end in \\r, and lines do not continue"
        text = text.replace("\r\n", "\n")
    if "\0" in text:
        notes.append(f"{name}: holds NUL bytes, which Bash drops")
        text = text.replace("\0", "")
    return Source(name, text, tuple(notes), mended)


def mend(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text for the parser (same lines), and the placeholders found as (line, text)."""
    placeholders: list[tuple[int, str]] = []

    def replace(match: re.Match[str]) -> str:
        inner = match[1] or match[2]
        placeholders.append((text.count("\n", 0, match.start()) + 1, f"<{inner}>"))
        return OPEN + inner.replace(" ", BLANK) + CLOSE

    text = PLACEHOLDER.sub(replace, text)
    text = re.sub(r"(\$\d|\$\{\w+\}|\$\w+)([0-9]?>)", r"\1 \2", text)
    return re.sub(r"\\\s*\Z", "", text) + "\n", placeholders


def original(text: str) -> str:
    """A mended text as the user wrote it, for messages."""
    return text.replace(OPEN, "<").replace(CLOSE, ">").replace(BLANK, " ")
