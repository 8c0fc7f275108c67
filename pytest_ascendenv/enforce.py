"""Marked tests: the host is judged before the body, what the test did is judged after it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import NoReturn

import pytest

from pytest_ascendenv import markers
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.items import EnvItem
from pytest_ascendenv.report import properties, text
from pytest_ascendenv.requirements import Requirement
from pytest_ascendenv.session import Session
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

REQUIRED = pytest.StashKey[list[Requirement]]()
UNMET = pytest.StashKey[list[Finding]]()
MEASURED = pytest.StashKey[list[object]]()
FAILURES = pytest.StashKey[list[str]]()
UNTOLD = pytest.StashKey[bool]()


class EnforcePlugin:
    """Registered only with ``--ascend-env``."""

    def __init__(self, run: Session) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Judge the host once the fixtures are set up: one of them may have prepared it."""
        if isinstance(item, EnvItem):
            return
        try:
            required = item.stash[REQUIRED] = markers.requirements(item, self.run.checks)
        except ValueError as mistake:  # a mark that a hook has added since the collection
            pytest.fail(str(mistake), pytrace=False)
        before = [requirement for requirement in required if requirement.check.when == "before"]
        if before:
            item.stash[UNMET] = self._judge(item, before, self.run.env())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self._fail(item.stash.get(UNMET, []))
        after = [requirement for requirement in item.stash.get(REQUIRED, []) if requirement.check.when == "after"]
        with _observing() if after else contextlib.nullcontext() as seen:
            try:
                result = yield
            except Unknown:
                raise  # "could not tell", whatever else was seen: see the report
            except Exception:
                self._tell(item, after, seen)
                raise
        self._fail(self._judge(item, after, self._env(item, seen)))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """ "Could not tell" is an error wherever it was raised; pytest has no such phase of a call."""
        report = yield
        reason = call.excinfo.value if call.excinfo else None
        if report.failed and isinstance(reason, Unknown) and not hasattr(report, "wasxfail"):
            self._told(item, report, reason)
        if call.when == "call" and report.failed and item.stash.get(UNTOLD, False):
            report.when = "setup"
        return report

    def _told(self, item: pytest.Item, report: pytest.TestReport, reason: Unknown) -> None:
        """The words of an Unknown in place of a traceback; skipped by setting, but for a pipeline that is broken."""
        words = f"could not tell: {reason}"
        broken = _broken(report, reason)
        if self.run.settings.declared.unknown == "skip" and not broken:
            path, line, _ = item.reportinfo()
            report.outcome, report.longrepr = "skipped", (str(path), (line or 0) + 1, f"Skipped: {words}")
            return
        report.longrepr = words
        item.stash[UNTOLD] = True

    def _env(self, item: pytest.Item, seen: object) -> AscendEnv:
        env = self.run.env(item.nodeid)
        measured: list[object] = item.stash.get(MEASURED, [])
        env.observed, env.measured = seen, tuple(measured)
        failures: list[str] = item.stash.get(FAILURES, [])
        env.failures = tuple(failures)
        return env

    def _judge(self, item: pytest.Item, required: Iterable[Requirement], env: AscendEnv) -> list[Finding]:
        """The findings that fail. "Could not tell" ends the phase, as an error or as a skip by the settings."""
        findings = [requirement.judge(env) for requirement in required]
        for finding in findings:
            item.user_properties += properties.of(finding)
        unmet = [finding for finding in findings if finding.verdict is Verdict.FAIL]
        untold = [finding for finding in findings if finding.verdict is Verdict.UNKNOWN]
        if untold and not unmet:
            self._untold(item, text.several(untold))
        return unmet + untold

    def _untold(self, item: pytest.Item, words: str) -> NoReturn:
        if self.run.settings.declared.unknown == "skip":
            pytest.skip(words.splitlines()[0])
        item.stash[UNTOLD] = True
        pytest.fail(words, pytrace=False)

    def _fail(self, unmet: list[Finding]) -> None:
        waivers = [waiver for finding in unmet if (waiver := self.run.waiver(finding))]
        if unmet and len(waivers) == len(unmet):
            pytest.xfail(f"{text.headline(unmet[0])} ({waivers[0]})")
        if unmet:
            pytest.fail(text.several(unmet), pytrace=False)

    def _tell(self, item: pytest.Item, required: Iterable[Requirement], seen: object) -> None:
        """The body raised, and that is what the test reports; what was seen until then goes beside it."""
        env = self._env(item, seen)
        unmet = [f for f in (requirement.judge(env) for requirement in required) if f.verdict is not Verdict.PASS]
        if unmet:
            item.add_report_section("call", "ascend-env", text.several(unmet))


def _broken(report: pytest.TestReport, reason: Unknown) -> bool:
    """Whether the test's own pipeline is at fault, which no setting skips; what it was doing goes into the report."""
    from pytest_ascendenv.pipeline import NotMeasured, PipelineError, Stalled

    if isinstance(reason, PipelineError):
        report.sections.append(("pipeline", reason.raised.traceback))
    if isinstance(reason, Stalled):
        report.sections.append(("pipeline", reason.stacks))
    return isinstance(reason, NotMeasured)


def _observing() -> contextlib.AbstractContextManager[object]:
    from pytest_ascendenv.training.observe import observing

    return observing()
