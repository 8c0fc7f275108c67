"""The marks of a test as requirements: read, merged (the closest wins), validated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ascendenv import checks as registry

if TYPE_CHECKING:
    from pytest_ascendenv.requirements import Requirement
    from pytest_ascendenv.verdict import Check

NEEDS = "needs --ascend-env"
OWN = "ascend_env"  # the mark of the plugin's own items


class Checks(Mapping[str, "Check"]):
    """Every known precondition by name, the project's own included; each is loaded when it is first asked for."""

    def __init__(self, own: Mapping[str, Check]) -> None:
        self.own = own

    def __getitem__(self, name: str) -> Check:
        return self.own[name] if name in self.own else registry.load(name)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in registry.TABLE

    def __iter__(self) -> Iterator[str]:
        yield from registry.TABLE
        yield from self.own

    def __len__(self) -> int:
        return len(registry.TABLE) + len(self.own)

    def is_marker(self, name: str) -> bool:
        return name in self.own or (name in registry.TABLE and registry.TABLE[name].marker)


class SkipPlugin:
    """Skips marked items that have no line of their own; registered only where there are any."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if of(item, self.checks):
            pytest.skip(NEEDS)


def own(given: Iterable[Any]) -> dict[str, Check]:
    """The project's own preconditions by name; a usage error for an object that is none."""
    found: dict[str, Check] = {}
    for checks in given:
        for check in _several(checks):
            missing = [name for name in ("name", "when", "parse", "judge") if not hasattr(check, name)]
            if missing:
                raise pytest.UsageError(
                    f"ascend-env: pytest_ascend_env_checks gave {check!r}, which has no {', '.join(missing)}; "
                    "wanted are objects with name, when, parse and judge"
                )
            found[check.name] = check
    return found


def _several(checks: Any) -> Iterable[Any]:
    return checks if isinstance(checks, Iterable) and not isinstance(checks, str) else [checks]


def of(item: pytest.Item, checks: Checks) -> dict[str, pytest.Mark]:
    """Our marks of this item, one a name, the closest last: module < class (base < derived) < function < pytest.param.

    pytest's own ``get_closest_marker`` prefers the mark of a base class, so the order is computed here. ``NAME(None)``
    drops what a wider level asked for.
    """
    found = {}
    for node in item.listchain():
        for mark in node.own_markers:
            if checks.is_marker(mark.name):
                found[mark.name] = mark
    return {name: mark for name, mark in found.items() if mark.args != (None,)}


def written(mark: pytest.Mark) -> str:
    words = [*map(repr, mark.args), *(f"{k}={v!r}" for k, v in mark.kwargs.items())]
    return f"{mark.name}({', '.join(words)})" if words else mark.name


def requirements(item: pytest.Item, checks: Checks) -> list[Requirement]:
    """What the marks of this item require; raises ValueError for a mark that cannot be read."""
    return [_requirement(mark, checks[name], item.nodeid) for name, mark in of(item, checks).items()]


def _requirement(mark: pytest.Mark, check: Check, where: str) -> Requirement:
    from pytest_ascendenv.requirements import Requirement, read_arguments

    try:
        wanted = read_arguments(check, mark.args, dict(mark.kwargs))
    except ValueError as error:
        raise ValueError(f"@pytest.mark.{written(mark)}: {error}") from None
    return Requirement(check, wanted, written(mark), where)


def mistakes(item: pytest.Item, checks: Checks) -> Iterator[str]:
    """What is wrong with the marks of this item, also with those that a closer one replaces."""
    for mark in (m for node in item.listchain() for m in node.own_markers):
        if mark.name == OWN:
            yield f"@pytest.mark.{OWN} is for the plugin's own items; on tests stand: {', '.join(_names(checks))}"
        elif checks.is_marker(mark.name) and mark.args != (None,):
            try:
                _requirement(mark, checks[mark.name], item.nodeid)
            except ValueError as error:
                yield str(error)


def _names(checks: Checks) -> Iterator[str]:
    return (name for name in checks if checks.is_marker(name))


def bad(nodes: Iterable[pytest.Item | pytest.Collector], checks: Checks) -> list[str]:
    """Every mistake in the marks of these tests with the first test it stands on."""
    nodes = list(nodes)
    found: dict[str, list[str]] = {}
    for item in nodes:
        if isinstance(item, pytest.Item) and not hasattr(item, "judges_itself"):
            for text in mistakes(item, checks):
                found.setdefault(text, []).append(item.nodeid)
    told = [f"{ids[0]}{f' (and {len(ids) - 1} more)' if ids[1:] else ''}: {text}" for text, ids in found.items()]
    if told:  # a collector that fails is not descended into, so its classes tell theirs here
        told += [text for node in nodes if isinstance(node, pytest.Class) for text in bad(node.collect(), checks)]
    return told


def lines(checks: Checks) -> Iterator[str]:
    """What ``pytest --markers`` says."""
    yield f"{OWN}: carried by the items that --ascend-env adds; select them with -m ascend_env."
    yield from (entry.help for entry in registry.TABLE.values() if entry.marker)
    yield from (
        getattr(check, "help", f"{check.name}: a precondition of this project.") for check in checks.own.values()
    )
