"""What earlier runs of the same measurement on the same host say of its run-to-run variation.

The caller keeps the records (a plain list of JSON values per measurement and host) wherever it likes.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from pytest_ascendenv.pipeline.decision import RUN_VARIATION
from pytest_ascendenv.pipeline.result import Throughput

ENOUGH = 5  # runs; with fewer RUN_VARIATION is assumed
KEPT = 20
LEAST, MOST = 0.01, 0.20
"""Bounds of what is learned; 1 to 16% was measured on eight pipelines."""

Record = Mapping[str, Any]


def host() -> str:
    """A name for this host as it is now: other cores are another machine to a pipeline."""
    return f"{platform.node()}-{len(os.sched_getaffinity(0))}of{os.cpu_count()}"


def record(result: Throughput) -> dict[str, float | None]:
    """What to keep of a measurement."""
    return {"rate": result.rate, "cpu_ms_per_sample": result.cpu_ms_per_sample}


def remember(records: Sequence[Record], result: Throughput) -> list[Record]:
    """The records with this result at their end; unchanged where others disturbed it or its data were too short."""
    if result.disturbed or result.short:
        return list(records)
    return [*records, record(result)][-KEPT:]


def run_variation(records: Sequence[Record]) -> float:
    """The run-to-run coefficient of variation.

    From the differences of neighbouring runs, by their median: a pipeline that was made faster between two of them does
    not count as one that varies. For normal noise the median of |x - y| is 0.6745 * sqrt(2) * sigma.
    """
    rates = [float(each["rate"]) for each in records if _usable(each)]
    if len(rates) < ENOUGH:
        return RUN_VARIATION
    steps = [abs(math.log(b / a)) for a, b in pairwise(rates)]
    return min(max(median(steps) / (0.6745 * math.sqrt(2)), LEAST), MOST)


def _usable(each: Record) -> bool:
    rate = each.get("rate") if isinstance(each, Mapping) else None
    return isinstance(rate, (int, float)) and math.isfinite(rate) and rate > 0
