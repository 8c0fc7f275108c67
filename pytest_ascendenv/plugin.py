"""The pytest hooks. With no option and no marker used, nothing beyond this file and the options is loaded."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import pytest

from pytest_ascendenv import markers, options
from pytest_ascendenv.fixtures import ascend_env, throughput

if TYPE_CHECKING:
    from pytest_ascendenv.session import Session

__all__ = ["ascend_env", "throughput"]

CHECKS = pytest.StashKey[markers.Checks]()
ENVIRON = pytest.StashKey[Mapping[str, str]]()
SESSION = pytest.StashKey["Session"]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_ascendenv import hookspec

    pluginmanager.add_hookspecs(hookspec)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CHECKS] = markers.Checks(markers.own(config.hook.pytest_ascend_env_checks(config=config)))
    config.stash[ENVIRON] = dict(os.environ)
    for line in markers.lines(config.stash[CHECKS]):
        config.addinivalue_line("markers", line)
    if options.active(config):
        _activate(config)


def _activate(config: pytest.Config) -> None:
    from pytest_ascendenv.enforce import EnforcePlugin
    from pytest_ascendenv.items import ItemsPlugin, XdistPlugin, take_node_ids
    from pytest_ascendenv.report.terminal import TerminalPlugin

    if nothing := options.empty(config):
        raise pytest.UsageError(f"ascend-env: {nothing[0]} was given an empty value")
    run = session(config)
    if run.gate and not run.declared:
        raise pytest.UsageError(
            "ascend-env: --ascend-env-gate, but no precondition is declared: "
            "name one with --ascend-env-require NAME=VALUE or in the [require] table of ascend-env.toml"
        )
    if run.against and not run.settings.declared.launch:
        raise pytest.UsageError("ascend-env: --ascend-env-against needs the launch script that is held against it")
    selected, alone = take_node_ids(config, run)
    config.pluginmanager.register(ItemsPlugin(run, selected), "ascend-env-items")
    config.pluginmanager.register(EnforcePlugin(run), "ascend-env-enforce")
    config.pluginmanager.register(TerminalPlugin(run), "ascend-env-terminal")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistPlugin(selected, alone), "ascend-env-xdist")


def session(config: pytest.Config) -> Session:
    """What this run checks; read once, when it is first needed."""
    from pytest_ascendenv.session import Session, captured_host, read_settings

    if SESSION not in config.stash:
        checks = config.stash[CHECKS]
        settings = read_settings(config, checks)
        config.stash[SESSION] = Session(
            settings,
            checks,
            config.stash[ENVIRON],
            gate=bool(config.getoption("ascend_env_gate")),
            against=config.getoption("ascend_env_against"),
            captured=captured_host(config),
            workers=getattr(config, "workerinput", {"workercount": 1})["workercount"],
            advise=bool(config.getoption("ascend_env_advise")),
        )
    return config.stash[SESSION]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Bad marks are an error of the collection, all of them at once; raising here would be lost under xdist."""
    report = yield
    bad = markers.bad(report.result, collector.config.stash[CHECKS])
    if bad:
        report.outcome, report.longrepr, report.result = "failed", "\n".join(bad), []
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if options.active(config):
        return
    marked = [item for item in items if markers.of(item, config.stash[CHECKS])]
    for item in marked:
        if item.reportinfo()[1] is not None:  # pytest wants a line to show a skip mark at
            item.add_marker(pytest.mark.skip(reason=markers.NEEDS))
        elif not config.pluginmanager.hasplugin("ascend-env-skip"):
            config.pluginmanager.register(markers.SkipPlugin(config.stash[CHECKS]), "ascend-env-skip")
