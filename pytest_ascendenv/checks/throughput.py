"""``min_throughput``: the pipeline must deliver at least this many samples per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.pipeline import decision
from pytest_ascendenv.pipeline.failures import NotMeasured
from pytest_ascendenv.pipeline.floors import Floor, floor
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.declared import Declared
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.pipeline.result import Throughput

NAME = "min_throughput"
CONTENDED_MARGIN = 1.4
"""A starved rate is below the floor beyond doubt where even this times what the free cores might give is: the estimate
for free cores was .86 to 1.25 of the quiet rate in trials, down to .68 under bursts."""


@dataclass(frozen=True)
class _Judged:
    """One measurement with what it means; ``why`` is a note on how it was decided."""

    measured: Throughput
    verdict: Verdict
    why: str = ""


class MinThroughput:
    """Judged by the worst of the measurements that the test made with the ``throughput`` fixture."""

    name = NAME
    when: Literal["before", "after"] = "after"

    def parse(self, *args: Any, **kwargs: Any) -> Floor:
        """``min_throughput(100)``, ``(samples=150_000, within="30 min")`` or ``(step_time="120 ms", batch=32, ranks=8,
        utilization=0.9)``, each with ``max_variation=0.2`` or without; TypeError or ValueError for anything else."""
        return floor(*args, **kwargs)

    def judge(self, wanted: Floor, env: AscendEnv) -> Finding:
        if not env.measured and env.observed is None and env.declared.program is not None:
            program = str(env.declared.program)
            try:
                measured = env.program_throughput(wanted.rate, wanted.max_variation)
            except NotMeasured as failure:  # the program's own pipeline is broken
                return _failed(wanted, program, (str(failure),), getattr(failure, "shown", ""))
            env = replace(env, subject=program, measured=(measured,))
        if not env.measured:
            return _nothing(wanted, env)
        judged = [_judge(wanted, measured, env.declared) for measured in env.measured]
        worst = min(judged, key=lambda each: (_ORDER[each.verdict], each.measured.rate))
        return _finding(wanted, worst, env)


_ORDER = {Verdict.FAIL: 0, Verdict.UNKNOWN: 1, Verdict.PASS: 2}


def _judge(wanted: Floor, measured: Throughput, declared: Declared) -> _Judged:
    rule = replace(measured.rule, floor=wanted.rate, max_variation=wanted.max_variation)
    answer, met = decision.decide(measured.windows, rule), _met(wanted, measured)
    if answer == "above" or (measured.others and met):  # others can only slow it down
        return _Judged(measured, Verdict.PASS)
    if measured.others:
        return _unclear(measured, declared, f"{_beside(measured)}; run it again alone (-n0)")
    if (answer == "below" or not met) and declared.contended == "inconclusive" and _may_be_fine(wanted, measured):
        return _unclear(measured, declared, "other processes had the cores; run it again when they are free")
    if answer == "below":
        return _Judged(measured, Verdict.FAIL)
    note = f"within the noise: {_noise(measured, rule)}"
    if declared.inconclusive == "fail":
        return _Judged(measured, Verdict.FAIL, note)
    return _Judged(measured, Verdict.PASS if met else Verdict.FAIL, note)


def _met(wanted: Floor, measured: Throughput) -> bool:
    """By the point estimates."""
    return measured >= wanted.rate and (wanted.max_variation is None or measured.variation <= wanted.max_variation)


def _noise(measured: Throughput, rule: decision.Rule) -> str:
    low, high = measured.interval
    span = f"{low:.1f} to {high:.1f} samples/s" if high < float("inf") else "not known from so little data"
    text = f"the 99% interval of the rate is {span}, variation {measured.variation:.0%}"
    short = rule.max_variation is not None and measured.seconds < rule.watched
    return f"{text}, seen for {measured.seconds:.1f} s of the {rule.watched:g} s that show swings" if short else text


def _unclear(measured: Throughput, declared: Declared, why: str) -> _Judged:
    return _Judged(measured, Verdict.FAIL if declared.inconclusive == "fail" else Verdict.UNKNOWN, why)


def _beside(measured: Throughput) -> str:
    return f"{measured.others} other test worker{'s' if measured.others > 1 else ''} ran beside the measurement"


def _may_be_fine(wanted: Floor, measured: Throughput) -> bool:
    """Whether the floor might be met on free cores."""
    if measured.load is None or measured.cause.kind != "STARVED":
        return False
    free = 1 - (measured.load.foreign or 0.0)
    return free <= 0 or CONTENDED_MARGIN * measured.interval[1] / free >= wanted.rate


def _finding(wanted: Floor, judged: _Judged, env: AscendEnv) -> Finding:
    measured, passed = judged.measured, judged.verdict is Verdict.PASS
    why = [judged.why] if judged.why else []
    if passed and why:  # of what passes only the notes are shown
        why += [_cause(measured), f"fix: {_fix(measured)}"]
    swings = wanted.max_variation is not None and measured.variation > wanted.max_variation
    return Finding(
        NAME,
        judged.verdict,
        str(wanted),
        f"{measured}, varying by {measured.variation:.0%}" if swings else str(measured),
        subject=env.subject,
        evidence=_evidence(measured),
        cause="" if passed else _cause(measured),
        fix="" if passed else _fix(measured),
        notes=(*why, *measured.notes),
        detail="" if passed and not why else _detail(measured),
    )


def _cause(measured: Throughput) -> str:
    if measured.stage is None or measured.remedy is None:
        return str(measured.cause)
    return f"{measured.cause}. The slow operation is {measured.stage.title}: {measured.remedy.reason}"


def _fix(measured: Throughput) -> str:
    """Of the cores where others or a quota have them, else of the slow operation."""
    remedy = measured.remedy.fix if measured.remedy is not None else ""
    if remedy and measured.cause.kind not in ("STARVED", "THROTTLED", "CROWDED"):
        return remedy
    return "; and if that is not enough, ".join(filter(None, [measured.cause.fix or FIX, remedy]))


def _detail(measured: Throughput) -> str:
    return "\n".join(filter(None, [measured.picture(), measured.stage.table() if measured.stage else ""]))


FIX = "give the slowest operation of the pipeline more workers, or make it cheaper; then measure it again"


def _nothing(wanted: Floor, env: AscendEnv) -> Finding:
    """A test that measured nothing answers nothing; without a test there may be no pipeline to measure."""
    from pytest_ascendenv.environment import AscendEnv

    if env.subject == AscendEnv.subject:  # no test: an item of the settings
        raise Unknown(
            'no pipeline was measured: declare program = "train.py …", whose dataset is then measured, or put '
            "@pytest.mark.min_throughput on a test that uses the throughput fixture and drop this key"
        )
    return _failed(wanted, env.subject, env.failures)


def _failed(wanted: Floor, subject: str, failures: Sequence[str], detail: str = "") -> Finding:
    return Finding(
        NAME,
        Verdict.FAIL,
        str(wanted),
        "nothing was measured",
        subject=subject,
        cause="; ".join(f"the measurement failed: {failure}" for failure in failures),
        fix="" if failures else "call the throughput fixture in the test: throughput(dataset)",
        detail=detail,
    )


def _evidence(measured: Throughput) -> tuple[Fact, ...]:
    low, high = measured.interval
    source = (
        "reading loop in this process" if measured.method == "in process" else f"reading loop in a {measured.method}"
    )
    facts = [
        Fact("rate", f"{measured.rate:.1f} samples/s, 99% interval {low:.1f} to {high:.1f}", source),
        Fact("windows", f"{len(measured.windows)}, slowest {measured.slowest:.1f} samples/s", source),
        Fact("first batch", f"{measured.first_batch:.3f} s", source),
        Fact("samples counted by", measured.counted, source),
    ]
    load = measured.load
    if load is not None and load.foreign is not None and load.waiting is not None:
        facts.append(Fact("share of its cores taken by others", f"{load.foreign:.0%}", "/proc/stat"))
        facts.append(Fact("time its busiest thread had no core", f"{load.waiting:.0%}", "/proc/PID/task/TID/schedstat"))
    return tuple(facts)
