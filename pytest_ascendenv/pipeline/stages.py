"""Which operation of a ``mindspore.dataset`` pipeline is the slow one.

From one short profiled pass: an operation whose workers are busy while all others are idle, else the one where the
queue falls from full to empty. The queues alone miss a per_batch_map that holds the interpreter's lock, the CPU alone
misses one that sleeps; together they were right on all of eight planted bottlenecks. Where Python threads fill the one
core that their lock gives them, the queues run empty before any of them, and the one with most of that core is slow. A
reader that hardly waits for a batch is slow itself, whatever the queues say: where it holds the lock, Python operations
stop with it. Without a profile the sub-trees are measured one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.pipeline import picture, profile, tree
from pytest_ascendenv.pipeline.failures import NotMeasured
from pytest_ascendenv.pipeline.profile import Op, Profile

if TYPE_CHECKING:
    from pytest_ascendenv.training.dataset import Operation

BUSY = 0.65
"""Cores that one worker of the slow operation uses at least, where the CPU alone names it."""
OTHERS = 0.60
"""Share of that above which a second operation is too busy for the CPU alone to tell."""
LOCK = 0.8
"""Cores that all threads of Python code use together, from where on the lock is what they wait for. Measured 0.87 to
0.92 where a per_batch_map took two thirds of it and a Python map a quarter; handing it over costs the rest."""
SAME = 1.25
"""A sub-tree at most this much faster than the whole still holds the slow operation."""
HARDLY = 0.1
"""Share of its time below which a reader does not wait for the pipeline; the slower one of two of about the same speed
still waits for more, as batches do not come evenly."""
CONSUMER = -1
"""In place of an operation's number: whoever reads the pipeline is slower than it."""

Method = Literal["profile", "sub-trees"]


@dataclass(frozen=True)
class Figure:
    """An operation with what was seen of it; ``rate`` in samples/s of the pipeline up to it."""

    title: str
    fill: float | None = None
    cpu: float | None = None
    rate: float | None = None

    def __str__(self) -> str:
        known = [
            "" if self.rate is None else f"{self.rate:.1f} samples/s",
            "" if self.fill is None else f"queue {self.fill:.0%} full",
            "" if self.cpu is None else f"{self.cpu:.2f} CPUs a worker",
        ]
        return f"{self.title}: {', '.join(filter(None, known))}"


@dataclass(frozen=True)
class Stage:
    """The slow operation: its place in ``tree.walk`` (CONSUMER: none is slow), what it is, and every stage's figures
    from the source on."""

    place: int
    operation: Operation | None
    cpu: float | None
    method: Method
    figures: tuple[Figure, ...] = ()

    @property
    def title(self) -> str:
        """The operation as the user wrote it, with the place of its functions."""
        if self.operation is None:
            return "the reader of the pipeline"
        where = ", ".join(self.operation.where)
        return f"{self.operation.title} at {where}" if where else self.operation.title

    @property
    def under_lock(self) -> float:
        """Cores that its threads use together where they are Python's and share the lock; 0 for any other."""
        operation = self.operation
        if operation is None or not operation.python or operation.processes:
            return 0.0
        return (self.cpu or 0.0) * operation.workers

    def table(self) -> str:
        """A bar per stage: the rate up to it, or how full its queue was."""
        rates = [(each.title, each.rate) for each in self.figures if each.rate is not None]
        if rates:
            return picture.bars(rates)
        fills = [(each.title, 100 * each.fill) for each in self.figures if each.fill is not None]
        return picture.bars(fills, "% of its output queue full")


def slowest(ops: Sequence[Op], locked: Collection[int] = ()) -> int:
    """The number of the slow operation, or CONSUMER. Pure.

    ``locked`` are the operations whose workers are threads of Python code: together they have one core.
    """
    busy = {op.number: op.cpu * (op.workers if op.number in locked else 1) for op in ops}
    first, *others = sorted(busy, key=lambda number: busy[number], reverse=True)
    if busy[first] >= BUSY and all(busy[number] < OTHERS * busy[first] for number in others):
        return first
    if first in locked and sum(busy[number] for number in locked if number in busy) >= LOCK:
        return first
    known = {op.number: op for op in ops}
    drops = {op.number: _input(op, known) - op.fill for op in ops if op.fill is not None}
    drops[CONSUMER] = _output(known[min(known)], known)
    return max(drops, key=lambda number: drops[number])


def _output(op: Op, known: Mapping[int, Op]) -> float:
    """How full the queue behind the operation is; one without a queue passes on what it gets."""
    return op.fill if op.fill is not None else _input(op, known)


def _input(op: Op, known: Mapping[int, Op]) -> float:
    """How full its input is: of several the emptiest, which it waits for; a source has all it wants."""
    return min((_output(known[number], known) for number in op.children if number in known), default=1.0)


def find(
    dataset: Any, rate_of: Callable[[Any], float] | None = None, reader: Callable[[Any], object] | None = None
) -> Stage:
    """The slow operation of a dataset. ``rate_of(sub-tree)`` measures samples/s where no profile can be had; ``reader``
    is what is done with each batch, such as a training step.

    Raises NotMeasured where neither can tell.
    """
    try:
        return _of_profile(dataset, profile.take(dataset, reader=reader))
    except profile.Unavailable as error:
        if rate_of is None:
            raise NotMeasured(f"the slow operation is not known: {error}") from None
        return by_subtrees(dataset, rate_of)


def _of_profile(dataset: Any, taken: Profile) -> Stage:
    ops = taken.ops
    nodes, operations = list(tree.walk(dataset)), operations_of(dataset)
    places = align(ops, dataset)
    locked = {
        number for number, place in places.items() if operations[place].python and not operations[place].processes
    }
    slow = CONSUMER if taken.waited < HARDLY else slowest(ops, locked)
    if slow != CONSUMER and slow not in places:
        raise profile.Unavailable(f"operation {slow} of the profile is none of the dataset's")
    seen = {places[op.number]: op for op in ops if op.number in places}
    figures = [
        Figure(operations[place].title, seen[place].fill, seen[place].cpu)
        for place in reversed(range(len(nodes)))
        if place in seen and seen[place].fill is not None
    ]
    if slow == CONSUMER:
        return Stage(CONSUMER, None, None, "profile", tuple(figures))
    place = places[slow]
    return Stage(place, operations[place], seen[place].cpu, "profile", tuple(figures))


def operations_of(dataset: Any) -> list[Operation]:
    """What each node of ``tree.walk`` is, in its order, with the workers that act on this machine.

    A captured program may be for a host with more threads; MindSpore runs no more workers than there are here.
    """
    from pytest_ascendenv.training.dataset import walk

    threads = os.cpu_count() or 1
    here = [replace(one, workers=min(one.workers, threads)) for one in walk(dataset)]
    from_source = dict(zip(map(id, _from_source(dataset)), here, strict=True))
    return [from_source[id(node)] for node in tree.walk(dataset)]


def _from_source(node: Any) -> list[Any]:
    return [each for child in node.children for each in _from_source(child)] + [node]


def align(ops: Sequence[Op], dataset: Any) -> dict[int, int]:
    """Operation number -> place in ``tree.walk``: both trees have one shape, but MindSpore may add or drop a link."""
    known = {op.number: op for op in ops}
    places = {id(node): place for place, node in enumerate(tree.walk(dataset))}
    found: dict[int, int] = {}

    def pair(op: Op, node: Any) -> None:
        children = [known[number] for number in op.children if number in known]
        if _kind(op.kind) in _kinds(node) or not (children or node.children):
            found[op.number] = places[id(node)]
            for below, under in zip(children, node.children, strict=False):
                pair(below, under)
        elif len(children) == 1:  # added when it was built
            pair(children[0], node)
        elif len(node.children) == 1:  # left out when it was built
            pair(op, node.children[0])

    pair(known[min(known)], dataset)
    return found


def _kind(name: str) -> str:
    return name.removesuffix("Op").lower()


def _kinds(node: Any) -> set[str]:
    return {cls.__name__.removesuffix("Dataset").removeprefix("Padded").lower() for cls in type(node).__mro__}


def by_subtrees(dataset: Any, rate_of: Callable[[Any], float]) -> Stage:
    """The operation below which the pipeline is clearly faster: from the root down, along the slowest branch."""
    nodes, operations = list(tree.walk(dataset)), operations_of(dataset)
    places = {id(node): place for place, node in enumerate(nodes)}
    rates = {0: rate_of(dataset)}
    node = dataset
    while node.children:
        for child in node.children:
            rates[places[id(child)]] = rate_of(child)
        below = min(node.children, key=lambda child: rates[places[id(child)]])
        if rates[places[id(below)]] > SAME * rates[0] and operations[places[id(node)]].parallel:
            break
        node = below
    place = places[id(node)]
    figures = [Figure(operations[number].title, rate=rates[number]) for number in sorted(rates, reverse=True)]
    return Stage(place, operations[place], None, "sub-trees", tuple(figures))
