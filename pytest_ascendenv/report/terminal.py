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
        lines = list(dict.fromkeys(_lines(terminalreporter)))
        if lines:
            terminalreporter.section("ascend-env")
            for line in lines:
                terminalreporter.line(line)


def _lines(reporter: pytest.TerminalReporter) -> Iterator[str]:
    for report in (r for outcome in reporter.stats.values() for r in outcome if hasattr(r, "user_properties")):
        for note in properties.notes(report.user_properties):
            yield f"{report.nodeid}: {note}"
        for key, value in report.user_properties:
            if key == properties.THROUGHPUT:
                yield f"{report.nodeid}: {value}"
