"""A settings table with the file and the lines it came from, so that a mistake can be shown where it was written."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "ascend-env.toml"
TABLE = ("tool", "ascend-env")


class SettingsError(Exception):
    """The settings cannot be used; each line of the text is one mistake with its place."""


@dataclass(frozen=True)
class Source:
    """The raw settings table, where it was read, and what precedes its keys in the file."""

    file: str = ""
    table: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    prefix: tuple[str, ...] = ()

    def place(self, *keys: str) -> str:
        """``file:line`` of a key (or of the nearest table above it that has a line)."""
        if not self.file:
            return "command line"
        path = (*self.prefix, *keys)
        while path:
            line = _line(self.text, path)
            if line:
                return f"{self.file}:{line}"
            path = path[:-1]
        return self.file


def load(path: Path, shown: str) -> Source | None:
    """The settings in a file, or None where a pyproject.toml has none; raises SettingsError with file and line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{shown}: not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{shown}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise SettingsError(f"{shown}: cannot be read: {error.strerror}") from None
    if path.name != "pyproject.toml":
        return Source(shown, table, text)
    inner = table.get(TABLE[0], {}).get(TABLE[1])
    if inner is None:
        return None
    if not isinstance(inner, dict):
        raise SettingsError(f"{shown}: [tool.ascend-env] must be a table, found {inner!r}")
    return Source(shown, inner, text, TABLE)


def parse_value(text: str) -> Any:
    """A value from the command line: TOML where it is TOML (``8``, ``{ write = "1 GB/s" }``), else a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


_HEADER = re.compile(r"^\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^.]+', dotted))


def _line(text: str, path: tuple[str, ...]) -> int | None:
    """The line (from 1) that sets this key or opens this table; a parser tells no lines, so they are looked up."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _parts(header[1])
            found = table
        elif key := _KEY.match(line):
            found = (*table, *_parts(key[1]))
        else:
            continue
        if found[: len(path)] == path:
            return number
    return None
