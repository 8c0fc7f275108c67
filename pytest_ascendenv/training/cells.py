"""What a cell is there for, by MindSpore's own classes."""

from __future__ import annotations

import sys
from typing import Any


def optimizers() -> tuple[type, ...]:
    """The base classes of optimisers: that of ``nn``, and that of ``experimental.optim`` and ``mint.optim``."""
    experimental = sys.modules.get("mindspore.experimental.optim.optimizer")
    other = [experimental.Optimizer] if experimental else []
    return (sys.modules["mindspore.nn"].Optimizer, *other)


def scale_updates() -> tuple[type, ...]:
    """What moves the loss scale of a step, or keeps it where it is."""
    nn = sys.modules["mindspore.nn"]
    return (nn.FixedLossScaleUpdateCell, nn.DynamicLossScaleUpdateCell)


def keeps_scale(found: Any) -> bool:
    return isinstance(found, sys.modules["mindspore.nn"].FixedLossScaleUpdateCell)


def is_cell(found: Any) -> bool:
    return isinstance(found, sys.modules["mindspore.nn"].Cell)


def is_optimizer(found: Any) -> bool:
    return isinstance(found, optimizers())


def is_step(found: Any) -> bool:
    """MindSpore's own step cells and what is derived from them."""
    return isinstance(found, sys.modules["mindspore.nn"].TrainOneStepCell)


def inside(cell: Any) -> list[Any]:
    """The cell and all cells below it."""
    return [part for _, part in cell.cells_and_names()]
