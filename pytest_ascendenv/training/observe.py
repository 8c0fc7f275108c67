"""Watch what a test really does with MindSpore; everything runs as it would, and all of it is undone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_ascendenv.training import site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation


@contextmanager
def observing() -> Iterator[Observation]:
    """Around a test body: ``with observing() as seen: …``. MindSpore is not imported by us; a late import is caught."""
    from pytest_ascendenv.training.spies import Spies

    seen = Observation()
    with Hooks() as hooks:
        spies = Spies(seen, hooks)
        hooks.when_imported("mindspore", spies.install_or_tell)
        _active.append(seen)
        try:
            yield seen
        finally:
            _active.remove(seen)


def note(dataset: object) -> None:
    """A pipeline that is used elsewhere than in this process, as the throughput fixture does, counts as used here."""
    for seen in _active:
        seen.saw_dataset(dataset, site.caller())


_active: list[Observation] = []
