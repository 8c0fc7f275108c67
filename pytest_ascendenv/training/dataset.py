"""The tree of a ``mindspore.dataset`` pipeline as frozen records, read without running it.

What the workers of an operation really do was measured on MindSpore 2.7, 2.9 and 2.10: a generator function runs in one
thread whatever ``num_parallel_workers`` says; Python functions run in threads that share the interpreter's lock, or in
processes with ``python_multiprocessing``; C++ operations always run in threads.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import GeneratorType
from typing import Any, Literal

from pytest_ascendenv.training import files, site
from pytest_ascendenv.training.files import Files
from pytest_ascendenv.verdict import Unknown

DEFAULT_WORKERS = "num_parallel_workers"
"""The fact of a captured program that says how many workers an operation has that names none, and why."""
ONE_THREAD = "a generator function runs in one thread, num_parallel_workers has no effect"
_PARALLEL = {"MapDataset", "BatchDataset", "PaddedBatchDataset", "FilterDataset", "DataLoader"}


@dataclass(frozen=True)
class Cost:
    """Seconds that the Python functions of an operation take for one row (a batch, for a per_batch_map), by the clock
    and on a core."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Operation:
    """One operation of a pipeline.

    ``workers`` are those that act, on the host the program is for, ``asked`` what the program gave (None where it left
    the default); ``python`` says whether Python code of the user's runs per row (None: unknown before the build);
    ``functions`` name the Python and C++ operations and ``where`` the places of the Python ones; ``parallel`` is False
    where workers mean nothing (repeat, shuffle, zip …); ``idle`` is the reason why the workers asked for cannot act.
    ``paths`` are absolute. ``equivalents`` are C++ operations of MindSpore with the name of a Python one here.
    ``row_bytes`` is the shared memory of one row, in and out together, where the program fixes it (max_rowsize).
    ``files`` are those of an image folder, or of the longest list of files that the user's source holds. ``cost`` is
    known of worker processes in a captured program.
    """

    kind: str
    workers: int
    workers_source: Literal["own", "default"]
    python: bool | None = None
    functions: tuple[str, ...] = ()
    multiprocessing: bool = False
    paths: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    asked: int | None = None
    parallel: bool = True
    idle: str = ""
    source: str = ""
    batch_size: int | None = None
    prefetch: int | None = None
    row_bytes: int | None = None
    equivalents: tuple[str, ...] = ()
    files: Files | None = None
    cost: Cost | None = None

    @property
    def title(self) -> str:
        """``MapDataset (Rescale, HWC2CHW)``."""
        return f"{self.kind} ({', '.join(self.functions)})" if self.functions else self.kind

    @property
    def processes(self) -> int:
        """Worker processes this operation starts; its helper that cleans up is not counted."""
        if not (self.multiprocessing and self.python) or self.idle:
            return 0
        return self.workers if self.source == "" or self.workers > 1 else 0

    def as_dict(self) -> dict[str, Any]:
        """What the commands print as JSON."""
        return {
            "kind": self.kind,
            "workers": self.workers,
            "workers_source": self.workers_source,
            "python": self.python,
            "functions": list(self.functions),
            "multiprocessing": self.multiprocessing,
            "paths": list(self.paths),
        }


def walk(dataset: Any) -> tuple[Operation, ...]:
    """The operations from the sources to the last one.

    Raises Unknown for an object that is no MindSpore dataset.
    """
    if not is_dataset(dataset):
        raise Unknown(f"a {type(dataset).__name__} is no mindspore.dataset pipeline")
    if type(dataset).__name__ == "DataLoader":
        return (_data_loader(dataset),)
    return tuple(_operation(node) for node in nodes(dataset))


def nodes(dataset: Any) -> list[Any]:
    """MindSpore's own objects of the operations, from the sources to the last one."""
    return list(_from_source(dataset))


def is_python(operation: Any) -> bool:
    """Whether a function or transform of an operation certainly runs as Python code."""
    return bool(_step(operation, None).python)


def is_dataset(found: Any) -> bool:
    """Whether this is a pipeline of the MindSpore that is loaded."""
    engine = sys.modules.get("mindspore.dataset")
    loader = sys.modules.get("mindspore.dataset.dataloader")
    kinds = tuple(
        kind for kind in (getattr(engine, "Dataset", None), getattr(loader, "DataLoader", None)) if kind is not None
    )
    return isinstance(found, kinds)


def _from_source(node: Any) -> Iterator[Any]:
    for child in node.children:
        yield from _from_source(child)
    yield node


def takes_default(node: Any) -> bool:
    """Whether workers act in an operation that was given no number of them."""
    return getattr(node, "num_parallel_workers", 0) is None and _is_parallel(node)


def _is_parallel(node: Any) -> bool:
    return not node.children or type(node).__name__ in _PARALLEL


def _operation(node: Any) -> Operation:
    kind = type(node).__name__
    steps = tuple(_steps(_operations_of(node)))
    python = _runs_python(node, steps)
    asked = node.num_parallel_workers
    generator = _is_generator(node)
    one_thread = generator and not hasattr(node.source, "__getitem__")
    paths, counted = _named(node)
    own = asked is not None and not (generator and asked == 1)  # GeneratorDataset puts its default there, 1
    return Operation(
        kind=kind,
        workers=1 if one_thread else _in_effect(asked),
        workers_source="own" if own else "default",
        python=python,
        functions=tuple(step.name for step in steps) or _names_of_source(node),
        multiprocessing=bool(getattr(node, "python_multiprocessing", False)) and bool(python),
        paths=tuple(dict.fromkeys(map(_absolute, [*_paths(node), *paths]))),
        where=tuple(step.where for step in steps if step.where),
        asked=None if asked is None else int(asked),
        parallel=_is_parallel(node),
        idle=ONE_THREAD if one_thread else "",
        source="" if node.children else _source_kind(node),
        batch_size=None if getattr(node, "batch_size_func", None) else _integer(getattr(node, "batch_size", None)),
        prefetch=_prefetch(),
        row_bytes=_row_bytes(getattr(node, "max_rowsize", None)),
        equivalents=tuple(filter(None, (_equivalent(step) for step in steps if step.python))),
        files=_located(counted),
    )


def _data_loader(loader: Any) -> Operation:
    """``mindspore.dataset.dataloader.DataLoader`` (2.9 and later): 0 workers load in the main process."""
    source = getattr(loader, "dataset", None)
    paths, counted = files.named(source)
    return Operation(
        kind="DataLoader",
        workers=int(loader.num_workers),
        workers_source="own" if loader.num_workers else "default",
        python=True,
        functions=(type(source).__name__,),
        multiprocessing=loader.num_workers > 0,
        paths=tuple(map(_absolute, paths)),
        asked=int(loader.num_workers) or None,
        idle="" if loader.num_workers else "num_workers=0 loads in the main process",
        source="random access" if hasattr(source, "__getitem__") else "iterable",
        batch_size=_integer(getattr(loader, "batch_size", None)),
        prefetch=_integer(getattr(loader, "prefetch_factor", None)),
        files=_located(counted),
    )


@dataclass(frozen=True)
class _Step:
    name: str
    python: bool | None
    where: str = ""


def _operations_of(node: Any) -> Iterable[Any]:
    if getattr(node, "per_batch_map", None) is not None:
        return [node.per_batch_map]
    if type(node).__name__ == "FilterDataset":
        return [node.predicate]
    operations = getattr(node, "operations", None) or []
    return operations if isinstance(operations, list | tuple) else [operations]


def _steps(operations: Iterable[Any]) -> Iterator[_Step]:
    previous: bool | None = False
    for operation in operations:
        if type(operation).__name__ == "Compose":
            yield from _steps(operation.transforms)
            continue
        step = _step(operation, previous)
        previous = step.python
        yield step


def _step(operation: Any, previous: bool | None) -> _Step:
    """C++ or Python: ``implementation`` says so, except for wrapped functions, and None follows the step before."""
    operation = _unwrapped(operation)
    implementation = getattr(operation, "implementation", "absent")
    if implementation == "absent":
        called = operation if hasattr(operation, "__code__") else type(operation).__call__
        return _Step(_name(operation), True, site.of_function(called))
    if implementation is None:
        return _Step(_name(operation), previous)
    return _Step(_name(operation), getattr(implementation, "name", "") == "PY")


def _name(operation: Any) -> str:
    inner = getattr(operation, "func", operation)  # functools.partial
    return str(getattr(inner, "__qualname__", None) or type(inner).__name__).replace("<locals>.", "")


def _runs_python(node: Any, steps: tuple[_Step, ...]) -> bool | None:
    if _is_generator(node):
        return type(node).__name__ != "NumpySlicesDataset"
    if any(step.python for step in steps):
        return True
    return None if any(step.python is None for step in steps) else False


def _is_generator(node: Any) -> bool:
    return isinstance(node, sys.modules["mindspore.dataset"].GeneratorDataset)


def _names_of_source(node: Any) -> tuple[str, ...]:
    return (_name(_given_source(node.source)),) if type(node).__name__ == "GeneratorDataset" else ()


def _given_source(source: Any) -> Any:
    """The user's generator inside MindSpore's wrapper, which holds it in ``itertools.tee`` only."""
    if type(source).__name__ != "_GeneratorWrapper":
        return source
    held = gc.get_referents(*gc.get_referents(getattr(source, "generator", None)))
    return next((one for one in held if isinstance(one, GeneratorType)), source)


def _source_kind(node: Any) -> str:
    if type(node).__name__ == "NumpySlicesDataset":
        return "arrays in memory"
    if _is_generator(node):
        return "random access" if hasattr(node.source, "__getitem__") else "generator function"
    return {
        "MindDataset": "MindRecord",
        "TFRecordDataset": "TFRecord",
        "ImageFolderDataset": "image folder",
    }.get(type(node).__name__, "files" if any(_paths(node)) else "")


def _paths(node: Any) -> Iterator[str]:
    if node.children:
        return
    for name in ("dataset_dir", "dataset_files", "annotation_file"):
        found = getattr(node, name, None)
        for path in found if isinstance(found, list | tuple) else [found]:
            if isinstance(path, str | os.PathLike) and os.fspath(path):
                yield files.plain(path)


def _absolute(path: str) -> str:
    """A program may change its directory between two pipelines; ``..`` stays, it may follow a link."""
    return path if os.path.isabs(path) else str(Path.cwd() / path)


def _located(counted: Files | None) -> Files | None:
    return replace(counted, where=_absolute(counted.where)) if counted else None


def _named(node: Any) -> tuple[tuple[str, ...], Files | None]:
    """What the program's own source and functions name; none where they are too strange to be looked into."""
    owners = [_given_source(node.source)] if _is_generator(node) else []
    owners += [one for one in map(_unwrapped, _operations_of(node)) if not _is_mindspores(one)]
    try:
        found, counted = files.named(*owners)
        if type(node).__name__ == "ImageFolderDataset":
            counted = files.below(node.dataset_dir)
    except Exception:  # a user's own container may raise anything
        return (), None
    return found, counted


def _unwrapped(operation: Any) -> Any:
    return operation.transform if type(operation).__name__ == "FuncWrapper" else operation


def _is_mindspores(operation: Any) -> bool:
    return type(operation).__module__.startswith("mindspore.")


def _equivalent(step: _Step) -> str:
    """The C++ operation of that name in mindspore.dataset.vision, transforms, text or audio."""
    name = step.name.rpartition(".")[2].replace("_", "").lower()
    for module in ("vision", "transforms", "text", "audio"):
        loaded = sys.modules.get(f"mindspore.dataset.{module}")
        for operation, found in list(vars(loaded).items()) if loaded else ():
            if operation.lower() == name and isinstance(found, type) and hasattr(found, "parse"):
                return f"{module}.{operation}"
    return ""


def _in_effect(asked: int | None) -> int:
    return int(asked) if asked is not None else int(sys.modules["mindspore.dataset"].config.get_num_parallel_workers())


def _row_bytes(sizes: Any) -> int | None:
    """``max_rowsize`` is in MB, one number or two, -1 where MindSpore takes what each row needs."""
    known = [size for size in (sizes if isinstance(sizes, list | tuple) else [sizes]) if _integer(size)]
    return sum(known) * 2**20 or None


def _prefetch() -> int:
    return int(sys.modules["mindspore.dataset"].config.get_prefetch_size())


def _integer(found: Any) -> int | None:
    return int(found) if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None
