"""The tree of a ``mindspore.dataset`` object by its public attributes: nothing is run, mindspore is not imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BATCHING = frozenset({"BatchDataset", "PaddedBatchDataset", "BucketBatchByLengthDataset"})


@dataclass(frozen=True)
class Batching:
    """How a tree batches: ``depth`` batches within one another (0: rows), ``size`` where one node fixes it,
    ``reshaped`` where a later map or a per_batch_map may have moved the batch dimension."""

    depth: int
    size: int | None
    reshaped: bool


def is_dataset(source: object) -> bool:
    """Whether ``source`` is a ``mindspore.dataset.Dataset``; False where mindspore was never imported."""
    module = sys.modules.get("mindspore.dataset")
    return module is not None and isinstance(source, module.Dataset)


def is_iterator(source: object) -> bool:
    """Whether ``source`` is a started iterator of a ``mindspore.dataset`` (its threads belong to this process)."""
    module = sys.modules.get("mindspore.dataset.engine.iterators")
    return module is not None and isinstance(source, module.Iterator)


def walk(node: Any) -> Iterator[Any]:
    """Every node, the root (the last operation) first."""
    yield node
    for child in node.children:
        yield from walk(child)


def is_kind(node: Any, *names: str) -> bool:
    """Whether the class of the node, or one it derives from, has one of these names."""
    return any(cls.__name__ in names for cls in type(node).__mro__)


def batches(node: Any) -> bool:
    """Whether this node makes batches (a batch sampler is turned into a batch node when the pipeline is built)."""
    return is_kind(node, *BATCHING) or bool(getattr(node, "has_batch_sampler", False))


def batching(root: Any) -> Batching:
    """How the tree batches."""
    nodes = [node for node in walk(root) if batches(node)]
    size = _fixed_size(nodes[0]) if len(nodes) == 1 else None
    reshaped = any(getattr(node, "per_batch_map", None) is not None for node in nodes) or _map_above(root)
    return Batching(_depth(root), size, reshaped)


def _fixed_size(node: Any) -> int | None:
    if getattr(node, "batch_size_func", None) is not None:
        return None
    size = getattr(node, "batch_size", None)
    return size if isinstance(size, int) and size > 0 else None


def _depth(node: Any) -> int:
    return int(batches(node)) + max((_depth(child) for child in node.children), default=0)


def _map_above(node: Any, mapped: bool = False) -> bool:
    if batches(node) and mapped:
        return True
    mapped = mapped or is_kind(node, "MapDataset")
    return any(_map_above(child, mapped) for child in node.children)
