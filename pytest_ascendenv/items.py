"""The items ``ascend-env::NAME``, first in the run, and the gate that no test passes while one of them is not met."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from pytest_ascendenv.markers import OWN
from pytest_ascendenv.report import properties, text
from pytest_ascendenv.requirements import Requirement
from pytest_ascendenv.session import Session
from pytest_ascendenv.verdict import Finding, Verdict

NODE = "ascend-env"
GATE_CLOSED = 78  # EX_CONFIG of sysexits.h; 0-7 are taken by pytest and its plugins
SELECTED = "ascend_env_selected"  # key of xdist's workerinput


class EnvItem(pytest.Item):
    """One precondition: met passes, unmet fails in the call phase, "could not tell" is an error of the set-up."""

    run: Session
    requirement: Requirement
    judges_itself = True

    @property
    def finding(self) -> Finding:
        return self.run.finding(self.requirement)

    def setup(self) -> None:
        self.user_properties += properties.of(self.finding)
        self.user_properties += properties.of_rate(self.run.measured(self.requirement))
        if self.finding.verdict is Verdict.UNKNOWN:
            if self.run.settings.declared.unknown == "skip":
                pytest.skip(text.headline(self.finding))
            pytest.fail(text.describe(self.finding), pytrace=False)

    def runtest(self) -> None:
        if self.finding.verdict is Verdict.PASS:
            self.add_report_section("call", "ascend-env", text.describe(self.finding))
            return
        if waiver := self.run.waiver(self.finding):
            pytest.xfail(f"{text.headline(self.finding)} ({waiver})")
        pytest.fail(text.describe(self.finding), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{NODE}: {self.name}"  # a skip mark that a hook adds wants a line


class EnvCollector(pytest.Collector):
    """Collects the items; no File, since a run of last failures skips a File whose path does not exist."""

    run: Session
    selected: list[str]

    @classmethod
    def make(cls, session: pytest.Session, run: Session, selected: list[str]) -> EnvCollector:
        # Without a node id of its own a child of the session gets "::ascend-env::NAME", which cannot be run again.
        path = session.config.inipath or session.config.rootpath
        collector: EnvCollector = cls.from_parent(session, name=NODE, nodeid=NODE, path=path)
        collector.run, collector.selected = run, selected
        return collector

    def collect(self) -> Iterator[EnvItem]:
        for name, requirement in self.run.required.items():
            if not self.selected or name in self.selected:
                item: EnvItem = EnvItem.from_parent(self, name=name)
                item.run, item.requirement = self.run, requirement
                item.add_marker(OWN)
                if self.run.checks.is_marker(name):
                    item.add_marker(name)
                yield item


class ItemsPlugin:
    """Puts the items in front of the run and, with the gate, judges them before anything is collected."""

    def __init__(self, run: Session, selected: list[str]) -> None:
        self.run = run
        self.selected = selected
        self.closed = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            report.result = [EnvCollector.make(collector, self.run, self.selected), *report.result]
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: not isinstance(item, EnvItem))  # stable; undoes a shuffle

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        config = session.config
        if not self.run.gate or hasattr(config, "workerinput") or config.option.collectonly:
            return
        items = list(EnvCollector.make(session, self.run, []).collect())
        unmet = [item for item in items if not self.run.met(item.finding)]
        if unmet:
            self._close(session, items, len(unmet))

    def _close(self, session: pytest.Session, items: list[EnvItem], unmet: int) -> None:
        """Report the items as usual, so that every report has them, then run nothing else."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self.closed = f"{NODE}: {unmet} of {len(items)} preconditions not met, no test was run"
        session.shouldfail = self.closed
        raise session.Failed(self.closed)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.closed:
            session.exitstatus = GATE_CLOSED


class XdistPlugin:
    """Workers cannot read the selected items from their arguments: the controller has taken them out."""

    def __init__(self, selected: list[str], alone: bool) -> None:
        self.selected = (selected, alone)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        node.workerinput[SELECTED] = self.selected  # type: ignore[attr-defined]


def asks_for_items(arg: str) -> bool:
    """Also "../ascend-env::NAME", which is how pytest shows the node id in a folder below the root."""
    path = arg.partition("::")[0]
    return os.path.basename(path) == NODE and not os.path.exists(path)


def take_node_ids(config: pytest.Config, run: Session) -> tuple[list[str], bool]:
    """The names in ``ascend-env::NAME`` arguments, taken out of the paths that pytest looks up.

    The second value tells whether they were the only arguments: then nothing else is collected.
    """
    if hasattr(config, "workerinput"):
        selected, alone = config.workerinput[SELECTED]
    else:
        selected, alone = _split_arguments(config, run)
    if alone:
        config.args[:] = []
    return selected, alone


def _split_arguments(config: pytest.Config, run: Session) -> tuple[list[str], bool]:
    mine = [arg for arg in config.args if asks_for_items(arg)]
    names = [arg.partition("::")[2] for arg in mine]
    for name in names:
        if name and name not in run.required:
            known = ", ".join(run.required)
            raise pytest.UsageError(f"ascend-env: {NODE}::{name}: nothing of that name is declared; declared: {known}")
    config.args[:] = [arg for arg in config.args if arg not in mine]
    return list(run.required) if "" in names else names, bool(mine) and not config.args
