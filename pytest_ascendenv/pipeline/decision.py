"""Whether the rate is above or below the floor, from (samples, seconds) windows alone. Pure functions.

The rule was chosen by replaying recorded traces of eight pipelines: a 99% t-interval at every look, its variance
inflated by the lag-1 correlation of the windows, widened by the run-to-run term. A sequential probability ratio test
was as quick but wrong near the floor without saying so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Literal

Window = tuple[int, float]
Answer = Literal["above", "below", "unclear"]

MIN_WINDOWS = 6
FEW_WINDOWS = 3
FEW_SECONDS = 0.6
"""With less than MIN_WINDOWS (but FEW_WINDOWS) only a factor of two is told apart from the floor, and only of windows
that are long because the pipeline is slow: three of 0.1 s may all lie within one burst of a neighbour."""
RUN_VARIATION = 0.05
"""Run-to-run coefficient of variation without a history: measured 1 to 16%, by pipeline, on a shared machine."""
WATCHED = 5.0
"""Seconds without swings before a pipeline counts as steady: what the incident's swings took, where windows of a second
or two would have looked alike."""
MAX_CORRELATION = 0.8

# Student's t, two-sided 99%, by degrees of freedom (tables of any statistics text); further on the normal expansion.
_T99 = (63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169)
_Z99 = 2.5758


@dataclass(frozen=True)
class Rule:
    """What the rate and its variation are held against.

    ``floor`` is in samples/s; ``max_variation`` is the largest coefficient of variation of the windows that is allowed;
    ``run_variation`` is the run-to-run coefficient of variation of this pipeline on this host; ``watched`` is how many
    seconds it must have been steady for.
    """

    floor: float | None = None
    max_variation: float | None = None
    run_variation: float = RUN_VARIATION
    watched: float = WATCHED


def t99(freedom: int) -> float:
    """The two-sided 99% quantile of Student's t."""
    if freedom <= len(_T99):
        return _T99[freedom - 1]
    z = _Z99
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def rate(windows: Sequence[Window]) -> float:
    """All samples over all seconds."""
    return sum(n for n, _ in windows) / sum(d for _, d in windows)


def rates(windows: Sequence[Window]) -> list[float]:
    return [n / d for n, d in windows]


def interval(windows: Sequence[Window], run_variation: float = RUN_VARIATION) -> tuple[float, float]:
    """The 99% interval of the rate in samples/s; (0, inf) where there are less than FEW_WINDOWS windows."""
    if len(windows) < FEW_WINDOWS:
        return 0.0, math.inf
    centre = rate(windows)
    half = math.hypot(_within(windows, centre), 2 * run_variation * centre)
    return max(0.0, centre - half), centre + half


def _within(windows: Sequence[Window], centre: float) -> float:
    """Half of the interval that the windows of this run give: the ratio estimator's, with lag-1 inflation."""
    count = len(windows)
    errors = [n - centre * d for n, d in windows]
    total = sum(e * e for e in errors)
    correlation = 0.0
    if count >= 8 and total > 0:
        correlation = sum(a * b for a, b in pairwise(errors)) / total
    correlation = min(max(correlation, 0.0), MAX_CORRELATION)
    variance = total / (count - 1) * (1 + correlation) / (1 - correlation)
    return t99(count - 1) * math.sqrt(variance * count) / sum(d for _, d in windows)


def variation(windows: Sequence[Window]) -> float:
    """The coefficient of variation of the windows' rates; 0 where there are less than two."""
    values = rates(windows)
    if len(values) < 2:
        return 0.0
    mean = fmean(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) / mean if mean else 0.0


def decide(windows: Sequence[Window], rule: Rule) -> Answer:
    """Above: every condition is met; below: one is broken; unclear: the windows do not tell (yet)."""
    answers = [_against_floor(windows, rule), _against_variation(windows, rule)]
    if "below" in answers:
        return "below"
    return "unclear" if "unclear" in answers else "above"


def _against_floor(windows: Sequence[Window], rule: Rule) -> Answer:
    if rule.floor is None:
        return "above"
    low, high = interval(windows, rule.run_variation)
    if len(windows) < MIN_WINDOWS:
        if sum(seconds for _, seconds in windows) < FEW_SECONDS:
            return "unclear"
        centre = rate(windows) if windows else 0.0
        low, high = min(low, centre / 2), max(high, 2 * centre)
    return "above" if low >= rule.floor else "below" if high < rule.floor else "unclear"


def _against_variation(windows: Sequence[Window], rule: Rule) -> Answer:
    """The variation of m windows is itself known to about 1/sqrt(2(m-1))."""
    if rule.max_variation is None:
        return "above"
    if len(windows) < MIN_WINDOWS:
        return "unclear"
    seen = variation(windows)
    error = _Z99 / math.sqrt(2 * (len(windows) - 1))
    if seen * (1 - error) > rule.max_variation:
        return "below"
    steady = seen * (1 + error) <= rule.max_variation and sum(seconds for _, seconds in windows) >= rule.watched
    return "above" if steady else "unclear"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie, interpolated."""
    ordered = sorted(values)
    if share == 0.5:
        return float(median(ordered))
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
