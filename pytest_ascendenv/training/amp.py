"""The precision a network really trains at, read from its cells; nothing is executed.

``Model(amp_level="O2")`` and ``build_train_network`` convert cells in place and leave no mark, ``auto_mixed_precision``
marks what it returns, and a converted network given to ``Model(amp_level="O0")`` still trains at its old level. So the
declared level says little, and the cells say it all, except O1 and auto, which only their marks tell.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pytest_ascendenv.training import cells

UNCLEAR = "O2|O3"
"""A network without norm layers is the same at O2 and O3."""


@dataclass(frozen=True)
class Precision:
    """What the cells say.

    ``level`` is "O0" to "O3", "auto", "O2|O3", or "partial" (some cells at full precision beside the norm layers) or
    "custom" (some norm layers at full precision, others not, or rewritten by a white list).
    Cells with parameters of their own are counted: ``low`` and ``full`` of ordinary ones, ``norm_low`` and
    ``norm_full`` of BatchNorm and LayerNorm.
    """

    level: str
    marks: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    low: int = 0
    full: int = 0
    norm_low: int = 0
    norm_full: int = 0

    @property
    def cells(self) -> int:
        return self.low + self.full + self.norm_low + self.norm_full

    def meets(self, wanted: str) -> bool:
        return self.level == wanted or (self.level == UNCLEAR and wanted in UNCLEAR.split("|"))

    def __str__(self) -> str:
        count, kind = (self.low, "/".join(self.dtypes)) if self.dtypes else (self.full, "fp32")
        parts = [f"{count} of {self.low + self.full} cells in {kind}"]
        if self.norm_low + self.norm_full:
            parts.append(f"{self.norm_full} of {self.norm_low + self.norm_full} norm layers in fp32")
        return ", ".join(parts)


@dataclass
class _Count:
    low: int = 0
    full: int = 0
    norm_low: int = 0
    norm_full: int = 0
    rewritten: bool = False

    def level(self, marks: list[str]) -> str:
        if marks:
            return marks[0]
        if self.rewritten:
            return "custom"
        if not self.low and not self.norm_low:
            return "O0"
        if self.full:
            return "partial"
        if self.norm_low and self.norm_full:
            return "custom"
        return "O3" if self.norm_low else "O2" if self.norm_full else UNCLEAR


def read(networks: Iterable[Any], marks: Iterable[str] = ()) -> Precision:
    """The precision of these cells together; ``marks`` are levels found elsewhere, as on functions."""
    found = [mark for mark in marks if mark]
    dtypes: set[str] = set()
    count = _Count()
    for cell in _cells(networks):
        _see(cell, count, found, dtypes)
    return Precision(
        count.level(found),
        tuple(found),
        tuple(sorted(dtypes)),
        count.low,
        count.full,
        count.norm_low,
        count.norm_full,
    )


def _cells(networks: Iterable[Any]) -> Iterable[Any]:
    """Every cell of the networks once; an optimiser and a loss scale hold parameters too, always at full precision."""
    pending, seen = list(networks), set()
    while pending:
        cell = pending.pop()
        if id(cell) in seen or isinstance(cell, (*cells.optimizers(), *cells.scale_updates())):
            continue
        seen.add(id(cell))
        pending += [cell.network] if cells.is_step(cell) else cell.cells()
        yield cell


def _see(cell: Any, count: _Count, marks: list[str], dtypes: set[str]) -> None:
    mark = getattr(cell, "_amp_level", "") or ""
    if mark and mark not in marks:
        marks.append(mark)
    count.rewritten |= type(cell).__module__.startswith("NetOpt")
    low = "fp16" if getattr(cell, "fp16", False) else "bf16" if getattr(cell, "bf16", False) else ""
    if low:
        dtypes.add(low)
    if isinstance(cell, _norms()):
        count.norm_low += bool(low)
        count.norm_full += not low
    elif not list(cell.cells()) and cell.parameters_dict(recurse=False):
        count.low += bool(low)
        count.full += not low


def _norms() -> tuple[type, ...]:
    return tuple(sys.modules["mindspore.amp"].get_black_list())
