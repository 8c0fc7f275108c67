"""MindSpore's own profile of a pipeline: how full each operation's output queue was, and the CPU of its workers.

The manager is a private binding (the public profiler gives nothing of the pipeline on a CPU); it is the same on
MindSpore 2.7, 2.9 and 2.10. Where it is missing, ``Unavailable`` says so, and ``stages`` measures sub-trees instead.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pytest_ascendenv.pipeline import child, load, sources
from pytest_ascendenv.pipeline.child import Limits, Send, Tick

SECONDS = 1.2
INTERVAL = 20  # ms between two samples; MindSpore's default of 1000 sees nothing in this time
LEAST_FREE = 0.4  # with less of the cores the figures are not stretched any further
SETTLE = 0.2  # share of the samples at the start that is left out


class Unavailable(Exception):
    """This MindSpore has no such manager, or it gave nothing."""


@dataclass(frozen=True)
class Op:
    """One operation that MindSpore built: ``fill`` of its output queue from 0 to 1 (None: it has none, its work is done
    by the operation behind it), ``cpu`` of one of its workers in cores."""

    number: int
    kind: str
    children: tuple[int, ...]
    workers: int
    fill: float | None
    cpu: float


@dataclass(frozen=True)
class Profile:
    """``ops`` with the root first; ``waited`` is the share of its time that the reader waited for a batch."""

    ops: tuple[Op, ...]
    waited: float = 1.0


Reader = Callable[[Any], object]
"""What is done with a batch between two reads, such as a training step; by default nothing."""


def take(dataset: Any, seconds: float = SECONDS, reader: Reader | None = None) -> Profile:
    """Profile the dataset in a child for ``seconds``.

    Raises Unavailable; Stalled, PipelineError and NotMeasured as ``measure`` does.
    """
    with tempfile.TemporaryDirectory(prefix="ascendenv-profile-") as folder:

        def work(tick: Tick, send: Send) -> None:
            begun = load.moment()
            found = _run(dataset, seconds, folder, tick, reader)
            send((found, load.foreign(begun, load.moment())))

        found, foreign = child.run(work, Limits())
        if isinstance(found, str):
            raise Unavailable(found)
        pipeline, usage = _json(folder, "pipeline_profiling_*.json"), _json(folder, "minddata_cpu_utilization_*.json")
        return Profile(parse(pipeline, usage, foreign or 0.0), found)


def _run(dataset: Any, seconds: float, folder: str, tick: Tick, reader: Reader | None) -> str | float:
    """In the child: what is missing, or the share of its time that the reader waited for a batch.

    The manager must be started before the iterator is made.
    """
    try:
        import mindspore._c_dataengine as engine
        import mindspore.dataset as ds

        ds.config.set_monitor_sampling_interval(INTERVAL)
        manager = engine.GlobalContext.profiling_manager()
        manager.init()
        manager.start()
    except (ImportError, AttributeError, RuntimeError) as error:
        return f"no profiling manager: {error}"
    iterator = dataset.create_tuple_iterator(num_epochs=-1, output_numpy=True, do_copy=False)
    begun = given = read = 0.0
    for batches, batch in enumerate(sources.epochs(iterator), 1):
        tick(batches, batches)
        given = time.monotonic()
        begun = begun or given
        if given >= begun + seconds:
            break
        if reader is not None:
            reader(batch)
            read += time.monotonic() - given
    manager.stop()
    manager.save(folder)
    return 1 - read / (given - begun) if given > begun else 1.0


def _json(folder: str, pattern: str) -> Mapping[str, Any]:
    for path in Path(folder).glob(pattern):
        found: Mapping[str, Any] = json.loads(path.read_text())
        return found
    raise Unavailable(f"the profiling manager wrote no {pattern}")


def parse(pipeline: Mapping[str, Any], usage: Mapping[str, Any], foreign: float = 0.0) -> tuple[Op, ...]:
    """The operations of the two files, the root (0) first. ``foreign`` is the share of the cores that others had
    meanwhile: what is left counts as a whole core."""
    cpu = {row["op_id"]: row["metrics"] for row in usage.get("op_info", [])}
    free = max(LEAST_FREE, 1 - foreign)
    ops = [_op(row, cpu.get(row["op_id"], {}), free) for row in pipeline["op_info"]]
    return tuple(sorted(ops, key=lambda op: op.number))


def _op(row: Mapping[str, Any], cpu: Mapping[str, Sequence[float]], free: float) -> Op:
    queue = (row.get("metrics") or {}).get("output_queue")
    workers = max(1, int(row.get("num_workers") or 1))
    percent = _mean(cpu.get("user_utilization", ())) + _mean(cpu.get("sys_utilization", ()))
    fill = _mean(queue["size"]) / queue["length"] if queue and queue["size"] and queue["length"] else None
    return Op(
        int(row["op_id"]),
        row["op_type"],
        tuple(row.get("children", ())),
        workers,
        fill,
        min(1.0, percent / 100 / workers / free),
    )


def _mean(values: Sequence[float]) -> float:
    kept = values[int(len(values) * SETTLE) :]
    return fmean(kept) if kept else 0.0
