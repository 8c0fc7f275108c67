"""What to do about a slow operation: the reason and the fix, from what it is. Pure.

What workers do was measured on MindSpore 2.7, 2.9 and 2.10: threads of a Python function share the interpreter's lock
(sleeps and I/O do overlap, computing does not), a generator function has one thread whatever is asked for, and worker
processes of a light operation cost more than they give (1222 samples/s with one process against 1938 without).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ascendenv.pipeline.cause import FULL

if TYPE_CHECKING:
    from pytest_ascendenv.pipeline.stages import Stage
    from pytest_ascendenv.training.dataset import Operation

COMPUTES = 0.35
"""Cores that a worker process (or all threads under one lock together) uses, from where on an operation computes rather
than waits: what MindSpore's own autotuner calls low is less."""
_FILES = {"image folder", "files"}


@dataclass(frozen=True)
class Remedy:
    """Why the operation is slow, and what to do."""

    reason: str
    fix: str


def remedy(stage: Stage, cores: int) -> Remedy:
    """For the slow operation of a pipeline that may use ``cores`` CPUs."""
    operation = stage.operation
    if operation is None:
        return Remedy("the pipeline waits for its reader", "make the training step faster, not the pipeline")
    if operation.idle:
        return Remedy(operation.idle, "give the source __getitem__ and __len__, so that workers can share its rows")
    threads = operation.workers if operation.python and not operation.processes else 1  # of one interpreter
    computes = stage.cpu is None or stage.cpu * threads >= COMPUTES
    if operation.source in _FILES and not operation.python:
        return _files(operation, cores)
    if operation.python:
        return _python(operation, stage.cpu, computes, cores)
    if not operation.parallel:
        return Remedy("it has no workers to share the work", "shuffle before batch, and with a smaller buffer")
    return _more(operation, f"its C++ workers compute {_time(stage.cpu)}" if computes else "its workers wait", cores)


def _python(operation: Operation, cpu: float | None, computes: bool, cores: int) -> Remedy:
    name, twin = _twin(operation)
    if twin:
        return Remedy(f"{name} runs as Python for every row", f"use {twin}, which runs in C++ without the lock")
    if operation.processes:
        if computes:
            return _more(operation, f"its worker processes compute {_time(cpu)}", cores)
        return Remedy(
            "its worker processes hardly compute: handing rows over costs more than the work",
            "try python_multiprocessing=False, which keeps a light or waiting function in threads",
        )
    if computes and operation.multiprocessing and cores > 1:  # a source with one worker runs in the main process
        return Remedy(
            "it runs in the main process alone", f"num_parallel_workers={cores}: each is a process of its own"
        )
    if computes:
        many = f": its {operation.workers} threads share one core" if operation.workers > 1 else ""
        return Remedy(
            f"Python code holds the interpreter's lock{many}",
            f"python_multiprocessing=True with num_parallel_workers={max(2, cores)}, or an operation of "
            "mindspore.dataset.vision/transforms in its place",
        )
    if operation.workers < cores:
        return _more(
            operation, "it waits (I/O, sleep, lock) rather than computes; threads can wait side by side", cores
        )
    return Remedy(
        f"its {operation.workers} workers wait (I/O, sleep, lock) rather than compute",
        "make it wait less: faster storage, larger reads, a cache",
    )


def _time(cpu: float | None) -> str:
    return "all the time" if cpu is None or cpu >= FULL else f"{cpu:.0%} of the time"


def _files(operation: Operation, cores: int) -> Remedy:
    if operation.workers < cores:
        return _more(operation, "it reads and decodes one file a row", cores)
    return Remedy(
        "it reads and decodes one small file a row, with all the workers that the cores allow",
        "pack the files into MindRecord once (mindspore.mindrecord.FileWriter), and read that",
    )


def _more(operation: Operation, reason: str, cores: int) -> Remedy:
    if operation.workers < cores:
        return Remedy(reason, f"num_parallel_workers={cores} instead of {operation.workers}")
    return Remedy(f"{reason}, {operation.workers} of them on {cores} CPUs", "make it cheaper, or give it more cores")


def _twin(operation: Operation) -> tuple[str, str]:
    """A Python function and the C++ operation of its name, ("resize", "mindspore.dataset.vision.Resize"), or twice "".

    A name alone: whether it does the same is for the user to see.
    """
    for twin in operation.equivalents:
        for function in operation.functions:
            if _plain(function) == _plain(twin) and function != twin.rpartition(".")[2]:
                return function, f"mindspore.dataset.{twin}"
    return "", ""


def _plain(name: str) -> str:
    return name.rpartition(".")[2].replace("_", "").lower()
