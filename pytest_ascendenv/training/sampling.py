"""A few rows of a captured pipeline, read in a child: what Python functions cost that were given worker processes, and
how large a batch is.

Rows go through MindSpore's debug mode, one after the other in one thread: nobody else holds the interpreter's lock, so
that the time of a function is its own.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pytest_ascendenv.pipeline import NotMeasured, child
from pytest_ascendenv.pipeline.child import Limits, Send, Tick
from pytest_ascendenv.training import dataset
from pytest_ascendenv.training.dataset import Cost, Operation

SECONDS = 0.2  # of reading rows
ROWS = 64  # at most
HANG = 2.0  # seconds without a row
BATCH = 10.0  # seconds to the first batch


def with_costs(data: Any, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The operations of ``dataset.walk(data)`` with ``cost`` where they start worker processes and could be sampled."""
    places = [place for place, one in enumerate(operations) if one.processes]
    if not places or not hasattr(data, "children") or len(operations) != len(dataset.nodes(data)):
        return operations
    try:
        costs = child.run(_Sampling(data, places), Limits(HANG, HANG))
    except (NotMeasured, OSError):
        return operations
    return tuple(replace(one, cost=costs.get(place)) for place, one in enumerate(operations))


def largest_column(data: Any) -> int | None:
    """Bytes of the largest column of one batch; None where none came."""

    def work(tick: Tick, send: Send) -> None:
        row = next(iter(_in_one_process(data).create_tuple_iterator(num_epochs=1, output_numpy=True)))
        send(max((int(getattr(column, "nbytes", 0)) for column in row), default=0))

    try:
        size: int = child.run(work, Limits(BATCH, BATCH))
    except (NotMeasured, OSError):
        return None
    return size


def _in_one_process(data: Any) -> Any:
    copied = copy.deepcopy(data)
    for node in dataset.nodes(copied):
        if hasattr(node, "python_multiprocessing"):
            node.python_multiprocessing = False
    return copied


class _Sampling:
    """Work for ``child.run``: sends ``{place: Cost}``."""

    def __init__(self, data: Any, places: list[int]) -> None:
        self.data = data
        self.places = places

    def __call__(self, tick: Tick, send: Send) -> None:
        import mindspore.dataset as ds

        ds.config.set_debug_mode(True, [])
        copied = _in_one_process(self.data)
        nodes = dataset.nodes(copied)
        timers = {place: _Timer() for place in self.places}
        for place, timer in timers.items():
            timer.wrap(nodes[place])
        begun = time.perf_counter()
        rows = copied.create_tuple_iterator(num_epochs=1, output_numpy=True)
        for number, _ in enumerate(rows, 1):
            tick(number, number)
            if number >= ROWS or time.perf_counter() - begun > SECONDS:
                break
        send({place: timer.cost() for place, timer in timers.items() if timer.rows})


class _Timer:
    """Counts the calls of the functions of one operation; several functions on one row are one call."""

    def __init__(self) -> None:
        self.rows = 0
        self.wall = self.cpu = 0.0

    def cost(self) -> Cost:
        return Cost(self.wall / self.rows, self.cpu / self.rows)

    def wrap(self, node: Any) -> None:
        if getattr(node, "per_batch_map", None) is not None:
            node.per_batch_map = self._timed(node.per_batch_map, counts=True)
        elif hasattr(node, "operations"):
            functions = list(_functions(node))
            for number, (holder, place) in enumerate(functions):
                holder[place] = self._timed(holder[place], counts=number == 0)
        elif hasattr(node, "source"):
            node.source = _TimedSource(node.source, self)

    def _timed(self, function: Any, counts: bool) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            begun = _now()
            try:
                return function(*args)
            finally:
                self.add(begun, counts)

        return timed

    def add(self, begun: _Moment, counts: bool = True) -> None:
        wall, cpu = (now - before for now, before in zip(_now(), begun, strict=True))
        self.wall += wall
        self.cpu += cpu
        self.rows += counts


_Moment = tuple[float, float]


def _now() -> _Moment:
    """By the clock and on a core, of this thread. The clock stands still while the thread could run but has no core: on
    a busy machine what computes must not look as if it waited."""
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        with open("/proc/thread-self/schedstat") as schedstat:
            waited = int(schedstat.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):  # a kernel without it
        waited = 0.0
    return wall - waited, cpu


def _functions(node: Any) -> Iterator[tuple[list[Any], int]]:
    """The places of the Python functions in the lists that hold them."""
    node.operations = list(node.operations) if isinstance(node.operations, list | tuple) else [node.operations]
    yield from _in_list(node.operations)


def _in_list(operations: list[Any]) -> Iterator[tuple[list[Any], int]]:
    for place, operation in enumerate(operations):
        if type(operation).__name__ == "Compose":
            operation.transforms = list(operation.transforms)
            yield from _in_list(operation.transforms)
        elif dataset.is_python(operation):
            yield operations, place


class _TimedSource:
    """A random-access source, each row timed."""

    def __init__(self, source: Any, timer: _Timer) -> None:
        self._source = source
        self._timer = timer

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: int) -> Any:
        begun = _now()
        try:
            return self._source[index]
        finally:
            self._timer.add(begun)
