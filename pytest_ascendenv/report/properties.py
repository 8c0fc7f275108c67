"""Findings as user properties: plain strings and floats, which reach JUnit and cross from xdist's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ascendenv.verdict import Finding

if TYPE_CHECKING:
    import pytest

    from pytest_ascendenv.pipeline import Throughput

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
    return [(THROUGHPUT, float(result.rate)), *figures, (MEASURED, str(result))]


def measured(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == MEASURED]


def advice(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == ADVICE]


def notes(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == NOTE]
