"""The one hook that a project can implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ascendenv.verdict import Check


def pytest_ascend_env_checks(config: pytest.Config) -> Iterable[Check]:  # type: ignore[empty-body]
    """Preconditions of the project's own, each usable as a marker, a settings key and an item by its name.

    Called once, from ``pytest_configure``: implement it in the ``conftest.py`` of the root folder or in a plugin, with
    ``@pytest.hookimpl(optionalhook=True)`` so that the project also runs without this plugin.
    """
