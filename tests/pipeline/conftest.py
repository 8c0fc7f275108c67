"""Real MindSpore pipelines for the tests of the package."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def ds():
    return pytest.importorskip("mindspore.dataset", reason="needs mindspore")
