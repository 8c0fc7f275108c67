"""The loss scale of a step, from the objects that apply it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_ascendenv.training import cells


def of_step(parts: Iterable[Any], scalers: Iterable[Any] = ()) -> str | None:
    """What scales the loss in these cells, or beside them the ``LossScaler`` of a hand-written step; None: nothing.

    A step cell may scale by a cell (``scale_sense=FixedLossScaleUpdateCell(1024)``), by a Tensor or by a plain
    ``sens``; one that is written by hand holds such a cell itself.
    """
    parts = list(parts)
    found = [_of_step_cell(part) for part in parts if cells.is_step(part)]
    found += [describe(part) for part in parts if isinstance(part, cells.scale_updates())]
    found += [type(scaler).__name__ for scaler in scalers]
    return next(filter(None, found), None)


def describe(scale: Any) -> str:
    """``FixedLossScaleManager(1024, drop_overflow_update=False)``, ``FixedLossScaleUpdateCell(1024)``."""
    name = type(scale).__name__
    if name == "FixedLossScaleManager":
        return f"{name}({scale.get_loss_scale()}, drop_overflow_update={scale.get_drop_overflow_update()})"
    return f"{name}({_number(scale.get_loss_scale())})" if cells.keeps_scale(scale) else name


def _of_step_cell(cell: Any) -> str:
    manager, scale = getattr(cell, "loss_scaling_manager", None), getattr(cell, "scale_sense", None)
    if manager is not None:
        return describe(manager)
    if scale is not None:
        return f"scale_sense={_number(scale)}"
    sens = getattr(cell, "sens", None)
    return "" if sens is None or _number(sens) == 1 else f"sens={_number(sens)}"


def _number(value: Any) -> Any:
    """A plain number, whole where it is; the name of its type for what is no number."""
    value = value.asnumpy() if hasattr(value, "asnumpy") else value
    try:
        number = float(value.reshape(-1)[0] if hasattr(value, "reshape") else value)
    except (TypeError, ValueError, IndexError):
        return type(value).__name__
    return int(number) if number.is_integer() else number
