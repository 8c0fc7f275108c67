"""Watch what a test really does with MindSpore; everything runs as it would, and all of it is undone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from pytest_ascendenv.training import site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation

if TYPE_CHECKING:
    from pytest_ascendenv.training.spies import Spies


@contextmanager
def observing() -> Iterator[Observation]:
    """Around a test body: ``with observing() as seen: …``. MindSpore is not imported by us; a late import is caught."""
    from pytest_ascendenv.training.spies import Spies

    seen = Observation()
    with Hooks() as hooks:
        spies = Spies(seen, hooks)
        hooks.when_imported("mindspore", lambda module: _install(spies, hooks, module))
        _active.append(seen)
        try:
            yield seen
        finally:
            _active.remove(seen)


def _install(spies: Spies, hooks: Hooks, mindspore: ModuleType) -> None:
    """A module that is not MindSpore as it is known leaves the test alone, and nothing is concluded from it."""
    try:
        spies.install(mindspore)
    except Exception as error:
        hooks.close()
        name = getattr(mindspore, "__file__", None) or "a stand-in"
        spies.seen.unread.append(f"{name} is no MindSpore that can be watched: {type(error).__name__}: {error}")


def note(dataset: object) -> None:
    """A pipeline that is used elsewhere than in this process, as the throughput fixture does, counts as used here."""
    for seen in _active:
        seen.saw_dataset(dataset, site.caller())


_active: list[Observation] = []
