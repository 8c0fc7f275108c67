"""What reading a script gives: launches with their words, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ascendenv.launch.text import Source, original
from pytest_ascendenv.launch.values import Value
from pytest_ascendenv.verdict import Status


@dataclass(frozen=True)
class Word:
    """One word of a command, or one variable of its environment.

    ``status`` is as in ``Fact``. ``splits`` marks a word that may turn into none or several (an unquoted
    expansion that is not known); ``earlier`` holds the values a variable had before, as (value, source).
    """

    value: str | None
    status: Status = "known"
    source: str = ""
    reason: str = ""
    splits: bool = False
    earlier: tuple[tuple[str, str], ...] = ()
    prefix: str = ""  # what is known at the start of an unknown word, such as "--workers="

    def as_dict(self) -> dict[str, Any]:
        return {"status": self.status, "value": self.value, "source": self.source, "reason": self.reason}


def word(value: Value, earlier: tuple[Value, ...] = ()) -> Word:
    """A value of the interpreter as people read it."""
    before = tuple((old.guess, old.source) for old in earlier if old.guess is not None)
    if value.known:
        return Word(value.text, "known", value.source, "", False, before)
    guess = value.guess
    status: Status = "unknown" if guess is None else "conditional"
    first = value.parts[0]
    prefix = str(first) if guess is None and isinstance(first, str) else ""
    return Word(guess, status, value.source, original(value.reason), value.splits, before, prefix)


@dataclass(frozen=True)
class Launch:
    """One command that starts a program: launcher, its words, and the environment it gets from the script and the user.

    ``argv`` begins with the launcher; ``program`` is the file or module it runs (None: not known), at ``argv[at]``.
    ``wrappers`` are what stands before it (``taskset -c 0-23``). ``condition`` is what must hold for it to run.
    """

    launcher: str
    program: str | None
    argv: tuple[Word, ...]
    env: Mapping[str, Word]
    condition: str = ""
    source: str = ""
    wrappers: tuple[str, ...] = ()
    cwd: str | None = None
    at: int = 0
    doubts: tuple[str, ...] = ()  # unreadable parts of the script before this launch

    @property
    def options(self) -> tuple[Word, ...]:
        """The words of the launcher."""
        return self.argv[1 : self.at]

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words of the program."""
        return self.argv[self.at + 1 :]


@dataclass(frozen=True)
class Launches:
    """Everything read from one script. ``incomplete`` says why launches may be missing ("" where none can be)."""

    script: str
    launches: tuple[Launch, ...] = ()
    notes: tuple[str, ...] = ()
    incomplete: str = ""
    files: Mapping[str, Source] = field(default_factory=dict)

    def line(self, source: str) -> str:
        """The text of a ``file:line`` source, or ""."""
        name, _, number = source.rpartition(":")
        lines = self.files[name].lines if name in self.files else []
        return lines[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(lines) else ""
