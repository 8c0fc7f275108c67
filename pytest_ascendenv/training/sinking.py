"""The queue of a sink, played for a captured program on a machine without the device that has it.

There ``DatasetHelper(…, dataset_sink_mode=True)`` is refused, in PyNative after an attempt to make the queue. On the
device it hands nothing to the loop, and the network that ``connect_network_with_dataset`` returns fetches its batch
itself. Here that network takes the batch from the dataset, one a call; a step does not come so far.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from pytest_ascendenv.training import read
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import GRAPH
from pytest_ascendenv.training.setups import Thread

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

Around = Callable[[Any, Any], AbstractContextManager[None]]
"""Around a call of a network that is connected with a helper, both given."""


class Queues:
    """``device`` says which one is meant; where that is the CPU, MindSpore refuses the program on its host too."""

    def __init__(self, hooks: Hooks, here: Thread, device: Callable[[], str], around: Around) -> None:
        self.hooks = hooks
        self._here = here
        self._device = device
        self._around = around

    def install(self, mindspore: types.ModuleType) -> None:
        self.hooks.watch(mindspore, "connect_network_with_dataset", self._connect)

    def opens(self, given: Mapping[str, Any]) -> bool:
        """Whether a ``DatasetHelper`` got its queue here; ``given`` are its arguments."""
        size = given["sink_size"]
        if given["dataset_sink_mode"] is not True or self._device() == "CPU":
            return False
        if not isinstance(size, int) or size < -1 or size == 0:
            return False  # MindSpore says what is wrong
        given["self"].iter = _Queue(given["dataset"], size, self._here)
        return True

    def _connect(self, original: Any, network: Any, dataset_helper: Any) -> Any:
        if not isinstance(getattr(dataset_helper, "iter", None), _Queue):
            return original(network, dataset_helper)
        return _connected(network, dataset_helper, self._around)


class _Queue:
    """In place of MindSpore's iterator over a sink: as many empty hands as there are calls in an epoch."""

    def __init__(self, dataset: Any, size: int, here: Thread) -> None:
        self.dataset = dataset
        self._size = size
        self._here = here
        self._batches: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[tuple[()]]:
        return iter([()] * (1 if read.mode() == GRAPH else self.get_sink_size()))

    def get_sink_size(self) -> int:
        return self._size if self._size > 0 else int(self.dataset.get_dataset_size())

    def batch(self) -> Any:
        with self._here.deeper():
            if self._batches is None:
                self._batches = self.dataset.create_tuple_iterator(num_epochs=-1)
            for _ in range(2):
                for batch in self._batches:
                    return batch
        return ()

    def types_shapes(self) -> Any:
        utilities = sys.modules["mindspore.train._utils"]
        with self._here.deeper():
            return utilities._get_types_and_shapes(self.dataset)

    get_data_info = types_shapes

    def stop_send(self) -> None:
        """Nothing is sent, as for all of these."""

    release = continue_send = stop_send

    def _reset(self, step: int, dataset_size: int) -> None:
        """Nothing was sent that could be sent again."""

    def get_mbuf_queue_size(self) -> int:
        return 0

    def get_send_info(self) -> list[Any]:
        return []


def _connected(network: Any, helper: Any, around: Around) -> Any:
    """Made where MindSpore is loaded: its ``Cell`` decides what a network is."""

    class Connected(sys.modules["mindspore.nn"].Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(auto_prefix=False, flags=network.get_flags())
            self.network = network

        def __call__(self, *inputs: Any, **named: Any) -> Any:
            with around(self.network, helper):
                return self.network(*(inputs or helper.iter.batch()), **named)

    return Connected()
