"""``min_throughput``: the pipeline must deliver at least this many samples per second."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.pipeline.result import Throughput

NAME = "min_throughput"
ALLOWED = "a positive number of samples/s, such as min_throughput(100)"


@dataclass(frozen=True)
class Wanted:
    """The least rate in samples/s."""

    floor: float

    def __str__(self) -> str:
        return f"at least {self.floor:g} samples/s"


class MinThroughput:
    """Judged by the worst of the measurements that the test made with the ``throughput`` fixture."""

    name = NAME
    when: Literal["before", "after"] = "after"

    def parse(self, *args: Any, **kwargs: Any) -> Wanted:
        """``min_throughput(100)``; TypeError or ValueError for anything but a positive finite number."""
        if kwargs or len(args) != 1:
            given = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
            raise TypeError(f"found {NAME}({', '.join(given)}); allowed is {ALLOWED}")
        return Wanted(_floor(args[0]))

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        if not env.measured:
            return _nothing(wanted, env)
        worst: Throughput = min(env.measured, key=float)
        verdict = Verdict.PASS if worst >= wanted.floor else Verdict.FAIL
        return Finding(
            NAME,
            verdict,
            str(wanted),
            str(worst),
            subject=env.subject,
            evidence=_evidence(worst),
            fix="" if verdict is Verdict.PASS else FIX,
            notes=worst.notes,
        )


FIX = "give the slowest operation of the pipeline more workers, or make it cheaper; then measure it again"


def _floor(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"found {value!r}; allowed is {ALLOWED}")
    if not (value > 0 and isfinite(value)):
        raise ValueError(f"found {value!r}; allowed is {ALLOWED}")
    return float(value)


def _nothing(wanted: Wanted, env: AscendEnv) -> Finding:
    """A test that measured nothing answers nothing; a host or program without a pipeline cannot be told."""
    from pytest_ascendenv.environment import AscendEnv

    if env.subject == AscendEnv.subject:  # no test: an item of the settings
        raise Unknown(
            "no pipeline was measured: a test with the throughput fixture, or a program whose dataset can be captured, "
            "is needed"
        )
    return Finding(
        NAME,
        Verdict.FAIL,
        str(wanted),
        "nothing was measured",
        subject=env.subject,
        fix="call the throughput fixture in the test: throughput(dataset)",
    )


def _evidence(measured: Throughput) -> tuple[Fact, ...]:
    low, high = measured.interval
    source = f"reading loop in a {measured.method}" if measured.method != "in process" else "reading loop in process"
    return (
        Fact("rate", f"{measured.rate:.1f} samples/s, 99% interval {low:.1f} to {high:.1f}", source),
        Fact("windows", f"{len(measured.windows)}, slowest {measured.slowest:.1f} samples/s", source),
        Fact("first batch", f"{measured.first_batch:.3f} s", source),
        Fact("samples counted by", measured.counted, source),
    )
