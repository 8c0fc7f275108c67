"""Findings as user properties: plain strings and floats, which reach JUnit and cross from xdist's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ascendenv.verdict import Finding

if TYPE_CHECKING:
    import pytest

    from pytest_ascendenv.pipeline import Throughput
    from pytest_ascendenv.training.rate import Rate

NOTE = "ascend-env.note"
THROUGHPUT = "throughput"
MEASURED = "throughput.measured"
ADVICE = "throughput.advice"


def of(finding: Finding) -> list[tuple[str, object]]:
    """The properties of a judged precondition; ``ascend-env.note`` repeats, one a note."""
    name = finding.precondition
    return [
        (f"{name}.verdict", finding.verdict.value),
        (f"{name}.expected", str(finding.expected)),
        (f"{name}.found", str(finding.found)),
        *((NOTE, note) for note in finding.notes),
    ]


def of_throughput(result: Throughput) -> list[tuple[str, object]]:
    """The properties of one measurement: ``throughput`` in samples/s, the figures behind it, and all as a sentence."""
    figures = ((f"{THROUGHPUT}.{name}", value) for name, value in result.figures().items())
    return [(THROUGHPUT, float(result.rate)), *figures, *_of_stages(result), (MEASURED, str(result))]


def _of_stages(result: Throughput) -> list[tuple[str, object]]:
    """The slow operation, and every stage's figures from the source on, where a profile was taken."""
    stage = result.stage
    if stage is None:
        return []
    known = [(f"{THROUGHPUT}.stage.{number}", str(figure)) for number, figure in enumerate(stage.figures, 1)]
    return [(f"{THROUGHPUT}.slow_operation", stage.title), *known]


def of_rate(rate: Rate | None) -> list[tuple[str, object]]:
    """The properties of what was measured of a program."""
    if rate is None or rate.throughput is None:
        return []
    return [*of_throughput(rate.throughput), *([(ADVICE, rate.advice)] if rate.advice else [])]


def measured(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == MEASURED]


def advice(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == ADVICE]


def notes(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == NOTE]
