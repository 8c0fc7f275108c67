"""How many samples one item of a pipeline holds.

The first dimension of a column is not enough: an unbatched image has one too, and a map behind ``batch`` may move it.
So the tree says whether it batches, and the first item shows which column carries the batch dimension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pytest_ascendenv.pipeline import tree
from pytest_ascendenv.pipeline.failures import Uncountable

COLUMNS = 8  # values of a batch that are looked at for one with a length
Count = Callable[[Any], int]


@dataclass(frozen=True)
class Counter:
    """``rows(item)`` is the number of samples; ``how`` says it in words for the report."""

    rows: Count
    how: str


def counter(source: object, batch_size: int | None = None, count: Count | None = None) -> Counter:
    """The way to count the items of ``source``; ``count`` and ``batch_size`` overrule what it says of itself.

    Raises TypeError or ValueError for a wrong ``count`` or ``batch_size``.
    """
    if count is not None:
        return Counter(_checked(count), "count=")
    if batch_size is not None:
        return _fixed(batch_size)
    if tree.is_iterator(source):
        source = getattr(source, "dataset", source)
    if tree.is_dataset(source):
        return _of_tree(tree.batching(source))
    size = _loader_size(source)
    if size is not None:
        return Counter(_Loader(size), "first dimension of the batch")
    return Counter(_one, "one sample an item")


def _one(item: Any) -> int:
    return 1


def _fixed(batch_size: int) -> Counter:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int):
        raise TypeError(f"batch_size is {batch_size!r}; a whole number of samples an item is wanted")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; at least 1 is wanted")
    return Counter(lambda item: batch_size, f"batch_size={batch_size}")


def _checked(count: Count) -> Count:
    if not callable(count):
        raise TypeError(f"count is {count!r}; a function from an item to its number of samples is wanted")

    def rows(item: Any) -> int:
        value: Any = count(item)
        try:
            number = operator.index(value)
        except TypeError:
            raise Uncountable(f"count= returned {value!r}; a whole number of samples is wanted") from None
        if number < 0:
            raise Uncountable(f"count= returned {number}; 0 or more samples are wanted")
        return number

    return rows


def _of_tree(batching: tree.Batching) -> Counter:
    if batching.depth == 0:
        return Counter(_one, "one sample a row (the dataset does not batch)")
    if batching.depth > 1:
        return Counter(_Nested(batching.depth), f"first {batching.depth} dimensions (batches of batches)")
    if batching.size == 1:  # a dimension of one may have been dropped, another one be in its place
        return Counter(_one, "batch(1)")
    if batching.size is not None and batching.reshaped:
        return Counter(_Carried(batching.size), f"batch({batching.size}), found again behind the later map")
    if batching.size is not None:
        return Counter(_OrSize(batching.size), "smallest first dimension of the columns")
    return Counter(_smallest, "smallest first dimension of the columns")


class _OrSize:
    """The smallest first dimension; ``size`` where no column has any (rows that are dictionaries)."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, item: Any) -> int:
        try:
            return _smallest(item)
        except Uncountable:
            return self.size


def _smallest(item: Any) -> int:
    rows = min((length for column in item for length in islice(_lengths_of(column), 1)), default=None)
    if rows is None:
        raise Uncountable("no column of the batch has a dimension to count; give count= or batch_size=")
    return int(rows)


def _lengths_of(column: Any) -> Iterator[int]:
    """Of a tensor its first dimension; of a dictionary that of its first value that has one."""
    if isinstance(column, Mapping):
        yield from next(filter(None, (list(_lengths(value)) for value in column.values())), [])
    elif getattr(column, "shape", ()):
        yield int(column.shape[0])


class _Nested:
    """Batches of batches: the product of the first ``depth`` dimensions."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __call__(self, item: Any) -> int:
        shapes = [column.shape[: self.depth] for column in item if len(getattr(column, "shape", ())) >= self.depth]
        if not shapes:
            raise Uncountable(f"no column keeps the {self.depth} dimensions of its batches; give count=")
        products = [1] * len(shapes)
        for number, shape in enumerate(shapes):
            for length in shape:
                products[number] *= int(length)
        return min(products)


class _Carried:
    """The batch dimension behind a map that may have moved it: learned from the first (full) batch.

    A column of ``size`` rows carries it; else one of a multiple (flattened) does, scaled; else another dimension of
    that length; where all columns were reduced to single values every batch counts as ``size``.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rule: Count | None = None

    def __call__(self, item: Any) -> int:
        if self.rule is None:
            self.rule = self._learn(item)
        return self.rule(item)

    def _learn(self, item: Any) -> Count:
        first = [int(column.shape[0]) if getattr(column, "shape", ()) else 1 for column in item]
        for number, length in enumerate(first):
            if length == self.size:
                return lambda item: int(item[number].shape[0])
        for number, length in enumerate(first):
            if length and length % self.size == 0:
                factor = length // self.size
                return lambda item: int(item[number].shape[0]) // factor
        for number, column in enumerate(item):
            for axis, length in enumerate(getattr(column, "shape", ())):
                if length == self.size:  # the map has moved the batch to another dimension
                    return lambda item: int(item[number].shape[axis])
        if min(first, default=1) <= 1:
            return lambda item: self.size
        if min(first) < self.size:  # less data than one batch
            return _smallest
        raise Uncountable(f"a map behind batch({self.size}) gives columns of {first} rows; give count= or batch_size=")


def _loader_size(source: object) -> int | None:
    """The batch size of an object like torch's DataLoader: 0 where it batches by a size of its own, None where not."""
    size = getattr(source, "batch_size", None)
    sampler = getattr(source, "batch_sampler", None)
    if size is None and sampler is None:
        return None
    if size is None:
        size = getattr(sampler, "batch_size", None)
    return size if isinstance(size, int) and not isinstance(size, bool) else 0


class _Loader:
    """A batch of a collate function: the length found first on the way to the first value, or the one of batch_size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.level: int | None = None

    def __call__(self, item: Any) -> int:
        lengths = list(_lengths(item))
        if not lengths:
            raise Uncountable(f"a batch of type {type(item).__name__} shows no length; give count= or batch_size=")
        if self.level is None:
            # The innermost one is the tensor's; an own collate_fn that keeps a list of samples shows in an outer one.
            known = [level for level, length in enumerate(lengths) if length == self.size]
            self.level = known[-1] if known else len(lengths) - 1
        return lengths[min(self.level, len(lengths) - 1)]


def _lengths(item: Any) -> Iterator[int]:
    """The lengths on the way to the first value: those of sequences, at last the first dimension of a tensor."""
    shape = getattr(item, "shape", None)
    if shape is not None:
        if len(shape):
            yield int(shape[0])
        return
    if isinstance(item, Mapping) or hasattr(item, "keys"):
        yield from next(filter(None, (list(_lengths(item[key])) for key in item)), [])
    elif hasattr(item, "__len__") and not isinstance(item, (str, bytes)):
        yield len(item)
        yield from next(filter(None, (list(_lengths(value)) for value in islice(item, COLUMNS))), [])
