"""What the interpreter knows of a text: the parts it is sure of and the holes where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

LONGEST = 256 * 1024  # characters of one value; real scripts stay below a few KiB
REASONS = 3  # reasons one value carries; more would not help a reader


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a text that is not certain, and why.

    ``value`` is what stands there if the condition in ``reason`` holds, or None where nothing can be said.
    ``splits`` marks an unquoted expansion: it may become no word, one or several.
    """

    reason: str
    value: str | None = None
    splits: bool = False
    source: str = field(default="", compare=False)


class Located(str):
    """Text with the file:line it was written at, where that is not the line of the whole value."""

    __slots__ = ("source",)
    source: str

    def __new__(cls, text: str, source: str) -> Located:
        located = super().__new__(cls, text)
        located.source = source
        return located


Part = str | Hole


@dataclass(frozen=True, slots=True)
class Value:
    """A text as known parts and holes, with the file:line that gave it."""

    parts: tuple[Part, ...] = ()
    source: str = ""

    @property
    def known(self) -> bool:
        return all(isinstance(part, str) for part in self.parts)

    @property
    def text(self) -> str | None:
        """The text where every part is known."""
        return "".join(self.parts) if self.known else None  # type: ignore[arg-type]

    @property
    def guess(self) -> str | None:
        """The text if all conditions hold; None where a part is unknown outright."""
        texts = [part if isinstance(part, str) else part.value for part in self.parts]
        return None if None in texts else "".join(text for text in texts if text is not None)

    @property
    def reason(self) -> str:
        return combine(part.reason for part in self.parts if isinstance(part, Hole))

    @property
    def splits(self) -> bool:
        return any(isinstance(part, Hole) and part.splits for part in self.parts)

    @property
    def surely_not_empty(self) -> bool:
        return any(isinstance(part, str) and part for part in self.parts)

    def at(self, source: str) -> Value:
        return replace(self, source=source)


def known(text: str, source: str = "") -> Value:
    return Value((text,), source)


def unknown(reason: str, value: str | None = None, source: str = "") -> Value:
    return Value((Hole(reason, value),), source)


def combine(reasons: Iterable[str]) -> str:
    """Several reasons as one phrase, each once."""
    unique = list(dict.fromkeys(reason for reason in reasons if reason))
    shown = "; ".join(unique[:REASONS])
    return shown if len(unique) <= REASONS else f"{shown}; and {len(unique) - REASONS} more"


def source_of(part: Part) -> str:
    return part.source if isinstance(part, (Located, Hole)) else ""


def lift(values: Sequence[Value], function: Callable[..., str], source: str = "") -> Value:
    """``function`` of texts that may be uncertain: its result is as certain as the least certain of them."""
    if all(value.known for value in values):
        return limited(known(function(*[value.text for value in values]), source))
    guesses = [value.guess for value in values]
    result = None if None in guesses else function(*guesses)
    return unknown(combine(value.reason for value in values), result, source)


def limited(value: Value) -> Value:
    """The value, or a hole where it grew beyond any real script's."""
    size = sum(len(part) for part in value.parts if isinstance(part, str))
    if size <= LONGEST and len(value.parts) <= 20_000:
        return value
    return unknown(f"longer than {LONGEST // 1024} KiB", source=value.source)


def either(first: Value | None, second: Value | None, condition: str) -> Value:
    """The value after a branch nobody can decide: ``first`` if ``condition`` holds, else ``second``."""
    if first is None:
        assert second is not None
        return Value((Hole(f"not if {condition}", second.guess),), second.source)
    if second is not None and first.parts == second.parts:
        return first
    other = "not set" if second is None else (second.guess if second.guess is not None else "unknown")
    why = f"if {condition}, else {shorten(other) or 'empty'}"
    if first.guess is None:
        why = combine([first.reason, why])
    return Value((Hole(why, first.guess),), first.source)


def shorten(text: str, limit: int = 60) -> str:
    """One line of a text, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
