"""How many workers the slow operation needs: a sweep on a copy of the user's tree."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.pipeline import child, picture, remedy, sources, stages, tree
from pytest_ascendenv.pipeline.child import Send, Tick
from pytest_ascendenv.pipeline.failures import NotMeasured
from pytest_ascendenv.pipeline.measuring import measure
from pytest_ascendenv.pipeline.stages import CONSUMER, Stage
from pytest_ascendenv.probes.cpu import Cpu
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.memory import queue_bytes, shared_memory
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.training.dataset import Operation

KNEE = 0.95
"""The least number of workers that gives this share of the best rate."""
MEMORY = 0.85
"""Share of the free memory that worker processes may take: MindSpore itself warns above it, counting the whole resident
size of this process for each of them."""
SECONDS = 1.0
PREFETCH = 2  # batches a worker: what torch's and MindSpore's loaders set where they have workers


@dataclass(frozen=True)
class Advice:
    """``rates`` in samples/s by workers of the slow operation, which has ``workers`` now; ``limit`` is the largest
    number allowed, and ``limited_by`` what it comes from. Without ``rates`` its workers have no say: see ``reason``."""

    stage: Stage | None
    operation: str
    rates: Mapping[int, float]
    reason: str
    fix: str
    floor: float | None = None
    limit: int = 1
    limited_by: str = ""
    workers: int = 1

    @property
    def knee(self) -> int | None:
        """The least number that gives KNEE of the best rate; None without rates."""
        return knee(self.rates)

    @property
    def needed(self) -> int | None:
        """The least number of workers that was seen to give the floor."""
        if self.floor is None:
            return self.knee
        return min((number for number, rate in self.rates.items() if rate >= self.floor), default=None)

    def __str__(self) -> str:
        lines = [f"{self.operation}: {self.reason}", f"fix: {self.fix}"]
        if self.rates:
            lines.append(picture.bars([(f"{number} workers", rate) for number, rate in self.rates.items()]))
            lines.append(
                f"knee at {self.knee} workers (it has {self.workers}), at most {self.limit}: {self.limited_by}"
            )
        if self.rates and self.floor is not None:
            needed = self.needed
            lines.append(
                f"{self.floor:g} samples/s need {needed} workers"
                if needed
                else f"{self.floor:g} samples/s were reached with none of them"
            )
        return "\n".join(lines)


def knee(rates: Mapping[int, float]) -> int | None:
    """The least number of workers with KNEE of the best rate; None without rates."""
    best = max(rates.values(), default=0.0)
    return min((number for number, rate in rates.items() if rate >= KNEE * best), default=None)


def steps(limit: int) -> list[int]:
    """1, 2, 4 … and the limit itself."""
    numbers = [1 << power for power in range(limit.bit_length()) if 1 << power <= limit]
    return numbers if limit in numbers else [*numbers, limit]


def advise(
    source: Any,
    *,
    floor: float | None = None,
    batch_size: int | None = None,
    count: Callable[[Any], int] | None = None,
    seconds: float = SECONDS,
    host: Host | None = None,
) -> Advice:
    """Find the slow operation, then measure ``seconds`` at each number of workers that this host allows.

    The user's object is left as it is. For a loader like torch's the workers are ``num_workers``. Raises TypeError for
    other sources, NotMeasured where the slow operation cannot be told.
    """
    host, source = host or Host(), sources.resolved(source)

    def rate_of(tried: Any) -> float:
        return measure(tried, batch_size=batch_size, count=count, duration=seconds).rate

    if not tree.is_dataset(source):
        return _of_loader(source, floor, rate_of, host)
    stage = stages.find(source, rate_of)
    return _of_stage(source, stage, floor, rate_of, host)


def advice_on(source: Any, floor: float | None = None, **counting: Any) -> str:
    """The advice for people, or why there is none: a test that has its rate does not fail for it."""
    try:
        return str(advise(source, floor=floor, **counting))
    except (NotMeasured, TypeError, ValueError, OSError) as reason:
        return f"no advice on workers: {reason}"


def _of_stage(source: Any, stage: Stage, floor: float | None, rate_of: Callable[[Any], float], host: Host) -> Advice:
    cores = Cpu(host).usable
    plan = remedy.remedy(stage, cores)
    operation = stage.operation
    if stage.place == CONSUMER or operation is None or operation.idle or not operation.parallel:
        return Advice(stage, stage.title, {}, plan.reason, plan.fix, floor)
    limit, by = allowed(cores, operation.prefetch or 16, _row(source, stage, operation), host)
    rates = {number: rate_of(with_workers(source, stage.place, number)) for number in steps(limit)}
    return Advice(stage, stage.title, rates, plan.reason, plan.fix, floor, limit, by, operation.workers)


def _row(source: Any, stage: Stage, operation: Operation) -> int | None:
    """Bytes in plus out of one row of the operation: twice what it gives, read once in a child."""
    if not operation.multiprocessing:
        return None
    node = list(tree.walk(source))[stage.place]

    def work(tick: Tick, send: Send) -> None:
        row = next(iter(node.create_tuple_iterator(num_epochs=1, output_numpy=True)))
        send(2 * sum(int(getattr(column, "nbytes", 0)) for column in row))

    size: int = child.run(work, child.Limits())
    return size


def with_workers(dataset: Any, place: int, workers: int) -> Any:
    """A copy of the tree in which the operation at that place of ``tree.walk`` has so many workers."""
    copied = copy.deepcopy(dataset)
    list(tree.walk(copied))[place].num_parallel_workers = workers
    return copied


def _of_loader(source: Any, floor: float | None, rate_of: Callable[[Any], float], host: Host) -> Advice:
    workers = getattr(source, "num_workers", None)
    if not isinstance(workers, int) or isinstance(workers, bool):
        raise TypeError(f"{type(source).__name__} has no workers to advise on; give a mindspore.dataset or a loader")
    prefetch = getattr(source, "prefetch_factor", None) or PREFETCH
    limit, by = allowed(Cpu(host).usable, prefetch, _batch_bytes(_with_processes(source, 0, None)), host)
    rates = {0: rate_of(_with_processes(source, 0, None))}
    for number in steps(limit):
        rates[number] = rate_of(_with_processes(source, number, prefetch))
    reason = "num_workers=0 loads in the training process itself" if not workers else f"it has {workers} workers"
    return Advice(
        None, type(source).__name__, rates, reason, f"num_workers={knee(rates)}", floor, limit, by, workers
    )  # fmt: skip


def _with_processes(loader: Any, workers: int, prefetch: int | None) -> Any:
    tried = copy.copy(loader)
    tried.num_workers, tried.prefetch_factor = workers, prefetch
    return tried


def _batch_bytes(loader: Any) -> int:
    """Of its first batch, read in a child: a worker process hands each over in shared memory."""

    def work(tick: Tick, send: Send) -> None:
        send(_bytes(next(iter(loader), None)))

    size: int = child.run(work, child.Limits())
    return size


def _bytes(item: Any) -> int:
    if isinstance(item, Mapping):
        return sum(map(_bytes, item.values()))
    if isinstance(item, list | tuple):
        return sum(map(_bytes, item))
    return int(getattr(item, "nbytes", 0))


def allowed(cores: int, prefetch: int, row: int | None, host: Host) -> tuple[int, str]:
    """The most workers that this host allows, and what limits them: usable cores, for processes memory and /dev/shm.

    ``row`` is the bytes that a worker process hands over at once; None where the workers are threads.
    """
    limits = [(min(cores, os.cpu_count() or cores), "the usable CPUs")]
    if row is not None:
        limits.append((_by_memory(host), "free memory"))
        limits.append((_by_shared_memory(cores, prefetch, row, host), "free /dev/shm"))
    number, by = min(limits, key=lambda limit: limit[0])
    return max(1, number), by


def _by_memory(host: Host) -> int:
    """How many times the resident size of this process fits the free memory."""
    try:
        rows = dict(line.split(":") for line in host.read("/proc/meminfo").splitlines())
        free = int(rows["MemAvailable"].split()[0]) * 1024
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (Unknown, OSError, KeyError, ValueError):
        return 1 << 16
    return int(MEMORY * free / max(1, resident))


def _by_shared_memory(cores: int, prefetch: int, row: int, host: Host) -> int:
    """How many workers' queues of rows of ``row`` bytes fit /dev/shm."""
    try:
        free = shared_memory(host).free
    except Unknown:
        return 1 << 16
    if free is None:
        return 1 << 16
    return max((number for number in range(1, cores + 1) if queue_bytes(number, prefetch, row) <= free), default=1)
