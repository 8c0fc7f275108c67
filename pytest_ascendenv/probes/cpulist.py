"""Core numbers as Linux writes them: "0-3,8"."""

from __future__ import annotations

from collections.abc import Iterable


def parse(text: str) -> tuple[int, ...]:
    """The cores of a list such as "0-3,8", in order; "" holds none. Raises ValueError naming the bad part."""
    cores: set[int] = set()
    for part in text.strip().split(","):
        if part.strip():
            cores.update(_span(part.strip()))
    return tuple(sorted(cores))


def _span(part: str) -> range:
    first, dash, last = part.partition("-")
    if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
        raise ValueError(f"{part!r} is neither a core nor a range of cores such as 0-3")
    low, high = int(first), int(last or first)
    if high < low:
        raise ValueError(f"{part!r} is a reversed range of cores")
    if high > 65535:
        raise ValueError(f"{part!r} is beyond any machine")
    return range(low, high + 1)


def show(cores: Iterable[int]) -> str:
    """The shortest list: "0-3,8"; "" for none."""
    spans: list[list[int]] = []
    for core in sorted(set(cores)):
        if spans and core == spans[-1][1] + 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
