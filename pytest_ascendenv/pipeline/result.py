"""``Throughput``: one measurement, comparable with plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_ascendenv.pipeline import decision, picture
from pytest_ascendenv.pipeline.cause import Cause, Load, cause, locked
from pytest_ascendenv.pipeline.decision import Answer, Rule, Window
from pytest_ascendenv.pipeline.loop import Trace
from pytest_ascendenv.pipeline.remedy import Remedy, remedy
from pytest_ascendenv.pipeline.stages import LOCK, Stage

NO_RULE = Rule()


@dataclass(frozen=True, repr=False)
class Throughput:
    """The rate of a pipeline and what is known of it. Compares with numbers by ``rate``: ``result >= 100``.

    ``rate`` and the rates beside it are in samples/s: ``interval`` is the 99% one, ``median``, ``p5`` and ``slowest``
    are of the ``windows`` ((samples, seconds), at least 0.1 s each). ``variation`` is their coefficient of variation.
    ``samples`` in ``seconds`` is what ``rate`` comes from, the warm-up left out; ``first_batch`` is in seconds from the
    opening. ``cpu_ms_per_sample`` is the CPU time of the pipeline's own threads and workers, None where the kernel does
    not tell. ``answer`` is the verdict against ``rule`` by the interval; ``short``: the data ended in the warm-up;
    ``others`` is the number of test workers that ran beside it.
    """

    rate: float
    samples: int
    seconds: float
    interval: tuple[float, float]
    median: float
    p5: float
    slowest: float
    variation: float
    first_batch: float
    cpu_ms_per_sample: float | None
    method: str
    windows: tuple[Window, ...] = field(repr=False)
    batches: int = 0
    counted: str = ""
    answer: Answer = "unclear"
    rule: Rule = NO_RULE
    short: bool = False
    others: int = 0
    load: Load | None = field(default=None, repr=False)
    stage: Stage | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def cause(self) -> Cause:
        """Why it is as fast as it is: who had the cores meanwhile, and whether its slow operation holds a lock."""
        if self.load is None:
            return Cause("UNKNOWN", "the load of the cores was not read")
        found = cause(self.load)
        held = self.stage.under_lock if self.stage else 0.0
        return locked(self.load, held) if found.kind == "WAITS" and held >= LOCK else found

    @property
    def remedy(self) -> Remedy | None:
        """Why the slow operation is slow, and what to do; None where it was not looked for."""
        return remedy(self.stage, len(self.load.cores) if self.load else 1) if self.stage else None

    @property
    def disturbed(self) -> bool:
        """Whether others took a good share of the cores, or tests ran beside it."""
        return self.others > 0 or self.cause.kind == "STARVED"

    def __str__(self) -> str:
        return f"{self.rate:.1f} samples/s ({self.samples} samples in {self.seconds:.2f} s)"

    def __repr__(self) -> str:
        return f"<Throughput {self}>"  # what a failing assert shows

    def __float__(self) -> float:
        return self.rate

    def _compare(self, other: object, test: Callable[[float, float], bool]) -> bool:
        if isinstance(other, Throughput):
            return test(self.rate, other.rate)
        if isinstance(other, (int, float)):
            return test(self.rate, float(other))
        raise TypeError(f"a throughput compares with numbers, not with {type(other).__name__}")

    def __lt__(self, other: object) -> bool:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: object) -> bool:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: object) -> bool:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: object) -> bool:
        return self._compare(other, lambda a, b: a >= b)

    def picture(self) -> str:
        """The windows as a sparkline with the slowest and the fastest rate; "" for less than three."""
        if len(self.windows) < decision.FEW_WINDOWS:
            return ""
        rates = decision.rates(self.windows)
        return f"windows {picture.sparkline(rates)} {min(rates):.0f} to {max(rates):.0f} samples/s"

    def figures(self) -> dict[str, float | int | str | None]:
        """Plain values for a report or for JUnit properties; an open end of the interval is None."""
        low, high = self.interval
        return {
            "samples_per_s": self.rate,
            "low": low,
            "high": high if math.isfinite(high) else None,
            "median": self.median,
            "p5": self.p5,
            "slowest": self.slowest,
            "variation": self.variation,
            "first_batch_s": self.first_batch,
            "samples": self.samples,
            "seconds": self.seconds,
            "windows": len(self.windows),
            "cpu_ms_per_sample": self.cpu_ms_per_sample,
            "answer": self.answer,
            "cause": self.cause.kind,
            "method": self.method,
        }


def of_trace(trace: Trace, rule: Rule, load: Load | None, **known: Any) -> Throughput:
    """The figures of a trace with at least one sample."""
    windows = trace.windows
    notes = [trace.note] if trace.note else []
    if not windows or not sum(n for n, _ in windows):  # a single batch: nothing but the start-up to divide by
        windows = ((trace.first_samples, trace.first_batch),)
        notes.append("only one batch was seen, so its time includes the start-up of the pipeline")
    elif trace.short:
        notes.append("the data ended within the warm-up, which is therefore part of the figures")
    rates = decision.rates(windows)
    samples = sum(n for n, _ in windows)
    return Throughput(
        rate=decision.rate(windows),
        samples=samples,
        seconds=float(sum(d for _, d in windows)),
        interval=decision.interval(windows, rule.run_variation),
        median=decision.percentile(rates, 0.5),
        p5=decision.percentile(rates, 0.05),
        slowest=min(rates),
        variation=decision.variation(windows),
        first_batch=trace.first_batch,
        cpu_ms_per_sample=1e3 * load.own / samples if load is not None and load.own else None,
        load=load,
        windows=windows,
        batches=trace.batches,
        answer=decision.decide(windows, rule),
        rule=rule,
        short=trace.short,
        notes=tuple(notes),
        **known,
    )
