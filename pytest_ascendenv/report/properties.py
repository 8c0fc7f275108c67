"""Findings as user properties: plain strings and floats, which reach JUnit and cross from xdist's workers."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_ascendenv.verdict import Finding

NOTE = "ascend-env.note"
THROUGHPUT = "throughput"


def of(finding: Finding) -> list[tuple[str, object]]:
    """The properties of a judged precondition; ``ascend-env.note`` repeats, one a note."""
    name = finding.precondition
    return [
        (f"{name}.verdict", finding.verdict.value),
        (f"{name}.expected", str(finding.expected)),
        (f"{name}.found", str(finding.found)),
        *((NOTE, f"{name}: {note}") for note in finding.notes),
    ]


def notes(properties: Iterable[tuple[str, object]]) -> list[str]:
    return [str(value) for key, value in properties if key == NOTE]
