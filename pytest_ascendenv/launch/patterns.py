"""Bash patterns (``*``, ``?``, ``[...]``) in time proportional to text times pattern, whatever a script contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a pattern: a star, or a set of characters (None: any), possibly inverted."""

    star: bool = False
    chars: frozenset[str] | None = None
    inverted: bool = False

    def accepts(self, char: str) -> bool:
        return self.chars is None or (char in self.chars) != self.inverted


def compile_pattern(pieces: Sequence[tuple[str, bool]]) -> list[Item]:
    """Pieces of text with "quoted": quoted characters stand for themselves."""
    items: list[Item] = []
    for text, quoted in pieces:
        i = 0
        while i < len(text):
            i, item = (i + 1, Item(chars=frozenset(text[i]))) if quoted else _item(text, i)
            items.append(item)
    return items


def _item(text: str, i: int) -> tuple[int, Item]:
    char = text[i]
    if char == "*":
        return i + 1, Item(star=True)
    if char == "?":
        return i + 1, Item()
    if text.startswith("[[:", i) and (end := text.find(":]]", i)) > 0:
        return end + 3, _set(text[i + 1 : end + 1])
    if char == "[" and (end := text.find("]", i + 2)) > 0:
        return end + 1, _set(text[i + 1 : end])
    if char == "\\" and i + 1 < len(text):
        return i + 2, Item(chars=frozenset(text[i + 1]))
    return i + 1, Item(chars=frozenset(char))


CLASSES = {"[:digit:": "0123456789", "[:space:": " \t\n\r\v\f", "[:blank:": " \t"}


def _set(body: str) -> Item:
    inverted = body[:1] in ("!", "^")
    body = body[1:] if inverted else body
    if body in CLASSES:
        return Item(chars=frozenset(CLASSES[body]), inverted=inverted)
    chars: set[str] = set()
    i = 0
    while i < len(body):
        if body[i + 1 : i + 2] == "-" and i + 2 < len(body):
            chars.update(chr(code) for code in range(ord(body[i]), min(ord(body[i + 2]), ord(body[i]) + 70000) + 1))
            i += 3
        else:
            chars.add(body[i])
            i += 1
    return Item(chars=frozenset(chars), inverted=inverted)


def ends(items: Sequence[Item], text: str, start: int = 0) -> list[int]:
    """Every index at which a match that begins at ``start`` may end, ascending."""
    found = []
    states = _close({0}, items)
    for i in range(start, len(text) + 1):
        if len(items) in states:
            found.append(i)
        if i == len(text) or not states:
            break
        states = _close({_next(s, items) for s in states if s < len(items) and _takes(s, items, text[i])}, items)
    return found


def _takes(state: int, items: Sequence[Item], char: str) -> bool:
    return items[state].star or items[state].accepts(char)


def _next(state: int, items: Sequence[Item]) -> int:
    return state if items[state].star else state + 1


def _close(states: set[int], items: Sequence[Item]) -> set[int]:
    result = set(states)
    for state in states:
        while state < len(items) and items[state].star:
            state += 1
            result.add(state)
    return result


def matches(items: Sequence[Item], text: str) -> bool:
    return len(text) in ends(items, text)


def remove_prefix(items: Sequence[Item], text: str, longest: bool) -> str:
    found = ends(items, text)
    return text[(found[-1] if longest else found[0]) :] if found else text


def remove_suffix(items: Sequence[Item], text: str, longest: bool) -> str:
    """The reversed pattern at the start of the reversed text."""
    found = ends(items[::-1], text[::-1])
    return text[: len(text) - (found[-1] if longest else found[0])] if found else text


def substitute(items: Sequence[Item], text: str, new: str, every: bool, anchor: str = "") -> str:
    """``${A/x/y}``: the longest match at each place; ``anchor`` "#" or "%" ties it to an end of the text."""
    if anchor == "%":
        rest = remove_suffix(items, text, longest=True)
        return rest + new if rest != text or matches(items, "") else text
    result, i = [], 0
    while i <= len(text):
        found = [end for end in ends(items, text, i) if end > i]
        if found:
            result.append(new)
            i = found[-1]
            if not every:
                break
        elif anchor == "#" or i == len(text):
            break
        else:
            result.append(text[i])
            i += 1
        if anchor == "#":
            break
    return "".join(result) + text[i:]
