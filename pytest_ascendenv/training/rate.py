"""The throughput of a captured program's training dataset, measured in that program."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.pipeline.failures import NothingMeasured, NotMeasured, PipelineError, Stalled

if TYPE_CHECKING:
    from pytest_ascendenv.pipeline import Throughput


@dataclass(frozen=True)
class Rate:
    """``throughput``, or ``why`` there is none. ``fault``: the pipeline itself is broken, and would be in the job too;
    ``shown`` is then what it was doing. ``advice`` is on its workers, where that was asked for."""

    throughput: Throughput | None = None
    why: str = ""
    fault: bool = False
    shown: str = ""
    advice: str = ""


class Broken(NotMeasured):
    """The program's pipeline is broken; ``shown`` is its traceback, or the frames where it hangs."""

    def __init__(self, text: str, shown: str = "") -> None:
        self.shown = shown
        super().__init__(text)


def measure(dataset: Any, options: Mapping[str, Any], *, advise: bool, elsewhere: bool) -> Rate:
    """``options`` are those of ``pipeline.measure``. ``elsewhere``: the program is meant for another machine, which may
    do what this one cannot."""
    from pytest_ascendenv import pipeline

    if dataset is None:
        return Rate(why="the dataset of the training call is not known, so its throughput is not")
    try:
        measured = pipeline.measure(dataset, **options)
    except (NotMeasured, TypeError, ValueError) as error:
        return Rate(why=str(error), fault=_at_fault(error, elsewhere), shown=_shown(error))
    return Rate(measured, advice=pipeline.advice_on(dataset, options.get("floor")) if advise else "")


def _at_fault(error: Exception, elsewhere: bool) -> bool:
    if isinstance(error, NothingMeasured):
        return True
    if isinstance(error, PipelineError):
        return not elsewhere or _users_own(error)
    return isinstance(error, Stalled) and not elsewhere


def _users_own(error: PipelineError) -> bool:
    """A missing device shows as a RuntimeError of MindSpore's, also below a line of the user's."""
    return bool(error.raised.where) and error.raised.kind != "RuntimeError" and hasattr(builtins, error.raised.kind)


def _shown(error: Exception) -> str:
    if isinstance(error, PipelineError):
        return error.raised.traceback
    return error.stacks if isinstance(error, Stalled) else ""
