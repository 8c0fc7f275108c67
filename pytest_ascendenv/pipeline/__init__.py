"""The throughput of a data pipeline: measured in a child under limits, judged by an interval, with the cause named.

``measure(source, floor=100)`` gives a ``Throughput``. Nothing here imports mindspore, numpy or psutil by itself: the
names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ascendenv.pipeline.advice import advice_on, advise
    from pytest_ascendenv.pipeline.failures import NothingMeasured, NotMeasured, PipelineError, Stalled
    from pytest_ascendenv.pipeline.measuring import measure
    from pytest_ascendenv.pipeline.result import Throughput

__all__ = ["NotMeasured", "NothingMeasured", "PipelineError", "Stalled", "Throughput", "advice_on", "advise", "measure"]

_HOMES = {
    "NotMeasured": "failures",
    "NothingMeasured": "failures",
    "PipelineError": "failures",
    "Stalled": "failures",
    "Throughput": "result",
    "advice_on": "advice",
    "advise": "advice",
    "measure": "measuring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
