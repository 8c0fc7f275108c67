"""What an active run adds to pytest's terminal: a header line, and a section of notes and measured rates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_ascendenv.report import properties
from pytest_ascendenv.session import Session


class TerminalPlugin:
    """Registered only with ``--ascend-env``."""

    def __init__(self, run: Session) -> None:
        self.run = run

    def pytest_report_header(self) -> str:
        if not self.run.declared:
            return "ascend-env: nothing declared, so the host checks that need no expected value"
        words = ", ".join(requirement.written for requirement in self.run.required.values())
        source = f" ({self.run.settings.file})" if self.run.settings.file else ""
        return f"ascend-env: {words}{source}{' [gate]' if self.run.gate else ''}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = [*_rates(terminalreporter), *_notes(terminalreporter)]
        if lines:
            terminalreporter.section("ascend-env")
            for line in lines:
                terminalreporter.line(line)
        if self.run.against:
            terminalreporter.section("ascend-env: launch scripts")
            terminalreporter.line(self.run.difference())


def _reports(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    return (report for some in reporter.stats.values() for report in some if isinstance(report, pytest.TestReport))


def _rates(reporter: pytest.TerminalReporter) -> list[str]:
    told = (
        f"{report.nodeid}: {words}"
        for report in _reports(reporter)
        for words in [*properties.measured(report), *properties.advice(report)]
    )
    return list(dict.fromkeys(told))


def _notes(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """Each note once, with the first test it belongs to: many tests often share one."""
    tests: dict[str, dict[str, None]] = {}
    for report in _reports(reporter):
        for note in properties.notes(report):
            tests.setdefault(note, {})[report.nodeid] = None
    for note, ids in tests.items():
        first, *more = ids
        yield f"{first}{f' and {len(more)} more' if more else ''}: {note}"
