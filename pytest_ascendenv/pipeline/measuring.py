"""``measure``: the throughput of a source, by a reading loop in a child under limits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_ascendenv.pipeline import child, decision, inprocess, load, result, sources, stages
from pytest_ascendenv.pipeline.cause import Load
from pytest_ascendenv.pipeline.child import Limits, Send, Tick
from pytest_ascendenv.pipeline.counting import Count, Counter, counter
from pytest_ascendenv.pipeline.decision import Rule, Window
from pytest_ascendenv.pipeline.failures import NothingMeasured, NotMeasured
from pytest_ascendenv.pipeline.loop import Enough, Meter, Trace
from pytest_ascendenv.pipeline.result import Throughput
from pytest_ascendenv.pipeline.sources import Source
from pytest_ascendenv.probes import lock

WARMUP = 0.3  # seconds after the first batch; the bias of a 2 s measurement was 2% and less from .25 s on
MAX_TIME = 8.0  # seconds to a verdict
STRETCHED = 60.0  # seconds, for a pipeline of seconds a batch to reach MIN_WINDOWS
PLAIN_TIME = 3.0  # seconds at most where no floor is given
PRECISE = 0.05  # relative half of the interval of this run at which a measurement without a floor ends


def measure(
    source: Any,
    *,
    batch_size: int | None = None,
    count: Count | None = None,
    duration: float | None = None,
    warmup: float | None = None,
    floor: float | None = None,
    max_variation: float | None = None,
    run_variation: float = decision.RUN_VARIATION,
    max_time: float = MAX_TIME,
    first_limit: float = child.FIRST,
    stall_limit: float = child.STALL,
    isolate: bool = True,
    others: int = 0,
    patience: float = lock.PATIENCE,
    explain: bool = True,
    watch: Callable[[int, int], None] = lambda batches, samples: None,
) -> Throughput:
    """The throughput of a ``mindspore.dataset``, a loader, an iterable or a generator, read by an own iterator.

    With ``floor`` (samples/s) it ends as soon as the verdict is clear, at most ``max_time`` seconds after the warm-up;
    with ``duration`` (seconds after the warm-up) exactly then; with neither when the rate is known well enough.
    ``batch_size`` and ``count`` (item -> samples) overrule what the source says of itself. ``isolate=False`` reads in
    this process, for a source whose threads already run here. ``others`` is the number of test workers beside this one:
    measurements wait for one another on a host (at most ``patience`` seconds), but other tests do not. With ``explain``
    a dataset that does not clearly reach the floor is profiled for its slow operation, 1.5 s more.

    Raises TypeError or ValueError for wrong arguments; NothingMeasured, Stalled, PipelineError or NotMeasured where
    there is no rate to give.
    """
    _positive("duration", duration)
    _positive("floor", floor)
    warmup = WARMUP if warmup is None else _seconds(warmup)
    rule = Rule(floor, max_variation, run_variation, decision.WATCHED if duration is None else 0.0)
    counting = partial(counter, batch_size=batch_size, count=count)
    job = _Job(source, sources.source_of(source), counting, counting(source), enough(rule, duration, max_time), warmup)
    limits = Limits(first_limit, stall_limit, floor)
    with lock.alone(patience) as alone:
        seen, method = _read(job, limits, isolate and not sources.started_here(source), watch)
        if not seen.trace.all_samples:
            raise NothingMeasured(_nothing(seen))
        known = {"method": method, "counted": seen.counted, "others": others + (not alone)}
        found = result.of_trace(seen.trace, rule, seen.load, **known)
        if explain and found.answer != "above" and method != "in process" and seen.kind == sources.DATASET:
            found = _explained(found, source)
    return found


def _explained(found: Throughput, source: Any) -> Throughput:
    """With the slow operation of a dataset, from one more short pass."""
    try:
        return replace(found, stage=stages.find(sources.resolved(source)))
    except (NotMeasured, OSError) as error:
        return replace(found, notes=(*found.notes, str(error)))


def _positive(name: str, value: float | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r}; a number is wanted")
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} is {value!r}; a positive finite number is wanted")


def _seconds(warmup: float) -> float:
    if isinstance(warmup, bool) or not isinstance(warmup, (int, float)) or not 0 <= warmup < math.inf:
        raise ValueError(f"warmup is {warmup!r}; 0 or more seconds are wanted")
    return float(warmup)


@dataclass(frozen=True)
class _Seen:
    """What a reading gave; ``kind`` and ``counted`` are of what was really read, also where a function returned it."""

    trace: Trace
    load: Load
    kind: str
    counted: str


@dataclass(frozen=True)
class _Job:
    given: Any
    source: Source
    counting: Callable[[Any], Counter]
    counter: Counter
    enough: Enough
    warmup: float

    def __call__(self, tick: Tick, send: Send) -> None:
        first = time.perf_counter(), load.ticks()
        moments = [load.moment()]
        source, counted = self.source, self.counter
        if source.kind == sources.FUNCTION:
            made, source = sources.returned(self.given)
            counted = self.counting(made)
        meter = Meter(source, counted.rows, self.enough, self.warmup, tick, lambda: moments.append(load.moment()))
        trace = meter.run()
        seen = load.load(moments[0 if trace.short else -1], load.moment(), first)
        send(_Seen(trace, seen, source.kind, counted.how))
        if not source.slow_to_close:  # worker processes take a second: their end is left to the parent
            sources.close(meter.iterator)


def _read(job: _Job, limits: Limits, isolate: bool, watch: Callable[[int, int], None]) -> tuple[_Seen, str]:
    if isolate and child.possible():
        try:
            return child.run(job, limits, watch), "forked child"
        except OSError as error:  # no process to be had
            why = error.strerror or str(error)
            seen: _Seen = inprocess.run(job, limits, watch)
            note = seen.trace.note or f"read in this process: fork failed ({why})"
            return replace(seen, trace=replace(seen.trace, note=note)), "in process"
    return inprocess.run(job, limits, watch), "in process"


def _nothing(seen: _Seen) -> str:
    if seen.trace.batches:
        return f"{seen.trace.batches} items held no sample at all"
    if seen.kind == sources.DATASET:
        return "the dataset gave no batch: no rows, or fewer than one batch with drop_remainder=True"
    return f"the {seen.kind} gave no item" + ("; it is empty, or was read before" if seen.kind == "iterator" else "")


def enough(rule: Rule, duration: float | None, max_time: float) -> Enough:
    """When to stop: see ``measure``."""
    if duration is not None:
        return lambda windows, elapsed: elapsed >= duration
    if rule.floor is None and rule.max_variation is None:
        return lambda windows, elapsed: _precise(windows) or _late(windows, elapsed, PLAIN_TIME)
    return lambda windows, elapsed: decision.decide(windows, rule) != "unclear" or _late(windows, elapsed, max_time)


def _late(windows: Sequence[Window], elapsed: float, limit: float) -> bool:
    return elapsed >= limit and (len(windows) >= decision.MIN_WINDOWS or elapsed >= STRETCHED)


def _precise(windows: Sequence[Window]) -> bool:
    if len(windows) < 2 * decision.MIN_WINDOWS:
        return False
    low, high = decision.interval(windows, run_variation=0.0)
    return high - low <= 2 * PRECISE * decision.rate(windows)
