"""Flags of a command line as a parser like argparse sees them: the last one wins, holes may hide more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_ascendenv.launch.model import Word

VALUELESS = re.compile(r"--(use|no|enable|disable|swap|reuse|overlap|bf16|fp16|finetune|sequence)(-|_|$)")
"""Flags that take no value by the look of them: an unknown word behind one is no value of it."""
FLAG = re.compile(r"-{1,2}[A-Za-z]")


@dataclass(frozen=True)
class Flags:
    """The words behind a program (or behind a launcher)."""

    words: tuple[Word, ...]

    def last(self, names: Sequence[str]) -> Word | None:
        """The value of the last flag of these names; "true" for a flag without value; None where there is none.

        A word of unknown number behind it may hold the flag again, so the value is then conditional.
        """
        wanted = {_normal(name) for name in names}
        hidden = ""
        for at in range(len(self.words) - 1, -1, -1):
            word = self.words[at]
            name, equals, rest = (word.value or word.prefix).partition("=")
            if FLAG.match(name) and _normal(name) in wanted and (equals or word.value is not None):
                return word if word.value is None else _hidden(self._value(at, rest if equals else None), hidden)
            if self._may_hide(at):
                hidden = f"{_shown(word)} does not hold {names[0]}"
        return Word(None, "unset", reason=hidden) if hidden else None

    def _value(self, at: int, attached: str | None) -> Word:
        flag = self.words[at]
        if attached is not None:
            return replace(flag, value=attached)
        following = self.words[at + 1] if at + 1 < len(self.words) else None
        if following is None or (following.value is not None and FLAG.match(following.value)):
            return replace(flag, value="true")
        return following

    def _may_hide(self, at: int) -> bool:
        """A word that may become several, and is not the value of a flag before it."""
        word = self.words[at]
        if not word.splits or word.value or FLAG.match(word.prefix):
            return False
        before = (self.words[at - 1].value or "") if at else ""
        return not FLAG.match(before) or "=" in before or VALUELESS.match(before) is not None

    def values(self, names: Sequence[str]) -> list[Word]:
        """All values of flags that take several (``--data-path a b``)."""
        wanted = {_normal(name) for name in names}
        found: list[Word] = []
        for at, word in enumerate(self.words):
            name, equals, rest = (word.value or "").partition("=")
            if word.value is None or not FLAG.match(name) or _normal(name) not in wanted:
                continue
            if equals:
                found.append(replace(word, value=rest))
                continue
            for value in self.words[at + 1 :]:
                if value.value is not None and FLAG.match(value.value):
                    break
                found.append(value)
        return found

    def present(self, names: Sequence[str]) -> bool:
        wanted = {_normal(name) for name in names}
        return any(_normal((word.value or "").partition("=")[0]) in wanted for word in self.words)

    def override(self, paths: Sequence[str]) -> Word | None:
        """``key.path=value`` (hydra) or ``--key.path value`` (dotted flags); the last one wins."""
        for at in range(len(self.words) - 1, -1, -1):
            text = self.words[at].value or ""
            name, equals, rest = text.lstrip("-+").partition("=")
            if any(path == name and "." in path for path in paths):
                if equals:
                    return replace(self.words[at], value=rest)
                if text.startswith("--"):
                    return self._value(at, None)
        return None


def _normal(name: str) -> str:
    return name.lstrip("-").replace("_", "-")


def _shown(word: Word) -> str:
    return f"the words at {word.source or 'an unknown place'} ({word.reason})"


def _hidden(word: Word, reason: str) -> Word:
    if not reason or word.status == "unknown":
        return word
    why = "; ".join(each for each in (word.reason, reason) if each)
    return replace(word, status="conditional", reason=why)
