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
FIGURES = ("seconds", "median", "p5", "slowest", "variation", "first_batch")


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
    return [
        (THROUGHPUT, float(result.rate)),
        (f"{THROUGHPUT}.samples", int(result.samples)),
        *((f"{THROUGHPUT}.{name}", float(getattr(result, name))) for name in FIGURES),
        (f"{THROUGHPUT}.interval", "{:.1f} to {:.1f}".format(*result.interval)),
        (f"{THROUGHPUT}.cpu_ms_per_sample", str(result.cpu_ms_per_sample)),
        (f"{THROUGHPUT}.method", str(result.method)),
        (MEASURED, str(result)),
    ]


def measured(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == MEASURED]


def advice(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == ADVICE]


def notes(report: pytest.TestReport) -> list[str]:
    return [str(value) for key, value in report.user_properties if key == NOTE]
