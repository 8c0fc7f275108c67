"""A string that does what was asked, close to the one that does not."""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_ascendenv.affinity.binding import Binding
from pytest_ascendenv.affinity.grammar import tokens

NUMBERS = {"off": 0, "coarse": 1, "fine": 2}
_KNOWN = re.compile(r"npu[0-9]{1,2}:[0-9]+(-[0-9]+)?|(npu_affine|lazy_bind|force|bind_irq):[0-9]")


def corrected(text: str, binding: Binding) -> str:
    """The string with each ignored token replaced by what was probably meant, or left out."""
    meant = {one.token: one.meant for one in binding.ignored}
    return ",".join(filter(None, (meant.get(token, token) for token in tokens(text))))


def with_mode(text: str, mode: str) -> str:
    """The string with that mode in front and its other well-formed tokens behind."""
    if mode == "off":
        return "0"
    return ",".join([str(NUMBERS[mode]), *(token for token in tokens(text) if _KNOWN.fullmatch(token))])


def suggest(text: str, mode: str, binding: Binding, does: Callable[[str], bool]) -> str:
    """The candidate nearest to ``text`` for which ``does`` holds; "" where even the bare mode would not act."""
    for candidate in (corrected(text, binding), with_mode(text, mode), str(NUMBERS[mode])):
        if candidate and does(candidate):
            return candidate
    return ""
