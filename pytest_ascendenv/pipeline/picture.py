"""Figures as text: a sparkline of windows, bars of stages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.-~=+*#"
WIDTH = 60


def sparkline(values: Sequence[float], width: int = WIDTH, ascii_only: bool = False) -> str:
    """One character a value from 0 to the largest; neighbours are averaged where there are more than ``width``."""
    blocks = _ASCII if ascii_only else _BLOCKS
    values = _thinned(values, width)
    top = max(values, default=0.0)
    if top <= 0:
        return blocks[0] * len(values)
    return "".join(blocks[min(len(blocks) - 1, int(value / top * len(blocks)))] for value in values)


def _thinned(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    edges = [round(number * len(values) / width) for number in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]


def bars(
    values: Sequence[tuple[str, float]], unit: str = "samples/s", width: int = 30, ascii_only: bool = False
) -> str:
    """A line a value: its name, a bar from 0 to the largest, and the figure."""
    top = max((value for _, value in values), default=0.0) or 1.0
    names = max((len(name) for name, _ in values), default=0)
    block = "#" if ascii_only else "█"
    lines = [
        f"{name:{names}}  {block * max(1, round(value / top * width)):{width}}  {value:.1f} {unit}".rstrip()
        for name, value in values
    ]
    return "\n".join(lines)
