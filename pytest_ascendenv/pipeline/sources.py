"""How each kind of source is opened, opened again when its data end, and closed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_ascendenv.pipeline import tree

DATASET = "mindspore.dataset"
FUNCTION = "function"
Open = Callable[[], "Iterator[Any]"]


@dataclass(frozen=True)
class Source:
    """``open()`` begins the data; ``again()`` begins them anew, or is None for data that can be read only once.

    ``gap`` tells whether the time that ``again`` takes belongs to the measurement: a training loop over a loader pays
    it in every epoch; a MindSpore training loop keeps one iterator over all epochs and does not.
    """

    kind: str
    open: Open
    again: Open | None
    gap: bool = True
    slow_to_close: bool = False


def source_of(given: Any) -> Source:
    """The source of a dataset, loader, iterable, iterator or function that returns one; raises TypeError otherwise."""
    if tree.is_iterator(given):
        given = _dataset_of(given)
    if tree.is_dataset(given):
        return _of_dataset(given)
    if not hasattr(given, "__iter__") and not hasattr(given, "__getitem__") and callable(given):
        return Source(FUNCTION, lambda: iter(given()), lambda: iter(given()))
    try:
        once = hasattr(given, "__next__") and iter(given) is given
    except TypeError:
        raise TypeError(f"{type(given).__name__} cannot be iterated; give a dataset, a loader or an iterable") from None
    if not once and not hasattr(given, "__iter__") and not hasattr(given, "__getitem__"):
        raise TypeError(f"{type(given).__name__} cannot be iterated; give a dataset, a loader or an iterable")
    return Source("iterator" if once else "iterable", lambda: iter(given), None if once else lambda: iter(given))


def returned(function: Callable[[], Any]) -> tuple[Any, Source]:
    """What a function returns, and how that is read: of an iterator the next one is had by calling it again."""
    made = function()
    source = source_of(made)
    if source.again is None:
        source = Source(FUNCTION, source.open, lambda: iter(function()))
    return made, source


def resolved(given: Any) -> Any:
    """The dataset that an iterator belongs to, what a function returns; anything else as it is."""
    if tree.is_iterator(given):
        return _dataset_of(given)
    return resolved(given()) if source_of(given).kind == FUNCTION else given


def _dataset_of(iterator: Any) -> Any:
    try:
        return iterator.dataset
    except AttributeError:
        raise TypeError("the MindSpore iterator was stopped; give the dataset itself") from None


def _of_dataset(dataset: Any) -> Source:
    def begin(number: int) -> Iterator[Any]:
        opened: Iterator[Any] = dataset.create_tuple_iterator(num_epochs=number, output_numpy=True, do_copy=False)
        return opened

    processes = any(getattr(node, "python_multiprocessing", False) for node in tree.walk(dataset))
    return Source(DATASET, lambda: begin(1), lambda: epochs(begin(-1)), False, processes)


def epochs(iterator: Iterator[Any]) -> Iterator[Any]:
    """One MindSpore iterator over all its epochs; ends at an epoch without data."""
    given = True
    while given:
        given = False
        for item in iterator:
            given = True
            yield item


def started_here(given: Any, depth: int = 3) -> bool:
    """Whether something iterable holds an iterator whose threads already run in this process: a forked child has no
    such threads."""
    if tree.is_iterator(given):
        return depth < 3  # by itself it is read by an iterator of its own
    if depth == 0 or tree.is_dataset(given) or isinstance(given, type):
        return False
    if not hasattr(given, "__next__") and not (hasattr(given, "__iter__") and hasattr(given, "__dict__")):
        return False
    held = [*gc.get_referents(given), *getattr(given, "__dict__", {}).values()]
    frame = getattr(given, "gi_frame", None)
    if frame is not None:
        held += frame.f_locals.values()
    return any(started_here(value, depth - 1) for value in held)


def close(iterator: Any) -> None:
    """End what an iterator started: MindSpore's threads, a generator's ``finally``, a loader's workers."""
    for name in ("stop", "close"):
        method = getattr(iterator, name, None)
        if callable(method):
            with suppress(Exception):
                method()
    del iterator
    gc.collect()
