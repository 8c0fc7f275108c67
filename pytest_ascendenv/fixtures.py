"""The fixtures ``ascend_env`` and ``throughput``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.pipeline import Throughput

    class Measure(Protocol):
        """What the ``throughput`` fixture gives: call it with a pipeline, get its measured rate."""

        def __call__(
            self,
            source: object,
            *,
            batch_size: int | None = None,
            count: Callable[[Any], int] | None = None,
            duration: float | None = None,
            warmup: float | None = None,
        ) -> Throughput: ...


@pytest.fixture(scope="session")
def ascend_env(pytestconfig: pytest.Config) -> AscendEnv:
    """Facts of this host, each probed when it is first asked for, as in ``ascend_env.cpu.usable``.

    A fact that cannot be obtained raises ``Unknown`` with the reason.
    """
    from pytest_ascendenv import plugin

    return plugin.session(pytestconfig).env()


@pytest.fixture
def throughput(request: pytest.FixtureRequest) -> Measure:
    """Run a short piece of a data pipeline and measure it: ``throughput(dataset)`` gives samples per second.

    Takes a mindspore.dataset, an object like torch's DataLoader, or any iterable. ``batch_size`` or ``count`` (a
    function of one item) say how many samples an item holds where that cannot be seen; ``duration`` and ``warmup``
    are seconds.
    With ``@pytest.mark.min_throughput(rate)`` the test fails below that rate; without it, compare the result.
    """
    from pytest_ascendenv.measuring import Measuring

    return Measuring(request.node)
