"""dataset_rules: what is known to make an input pipeline slow, or to end it at run time, read from its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pytest_ascendenv.checks.program_rules import Hit, finding
from pytest_ascendenv.checks.quantities import show_bytes
from pytest_ascendenv.checks.training import observation, subject
from pytest_ascendenv.checks.workers import used
from pytest_ascendenv.training.dataset import Operation
from pytest_ascendenv.training.files import COUNTED
from pytest_ascendenv.verdict import Fact, Finding, Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.training.record import Observation

SMALL = 2**20
"""Bytes: the smaller of the file shapes of fio-scan (stas00/ml-engineering, storage) that reads by metadata more than
by content."""
MEMORY = 0.85
"""Of the available memory: GeneratorDataset warns above it (2.10, dataset/engine/datasets_user_defined.py)."""
HAND_OVER = 0.3e-3
"""Seconds to hand a row to a worker process and back: of 96x96x3 images on 2 CPUs, 1938 samples/s passed a light
function in a thread, 1222 the same function in a process."""
OPTIMIZE = "MindSpore tutorials, dataset/optimize"

Tree = Sequence[Operation]


class DatasetRules:
    """The pipelines that feed training follow MindSpore's own advice, and fit this host."""

    name = "dataset_rules"
    when: Literal["before", "after"] = "after"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        seen = observation(env)
        trees = used(seen)
        if not trees:
            raise Unknown(f"no mindspore.dataset pipeline was seen in {subject(env)}")
        hits = [hit for place, tree in trees for rule in RULES for hit in rule(tree, place)]
        hits += [hit for place, tree in trees for hit in _on_this_host(tree, place, env, seen)]
        return finding(self.name, "a pipeline without known brakes", hits, env, seen)


def _fact(one: Operation, place: str, reason: str = "") -> Fact:
    return Fact(one.title, f"{one.workers} workers", one.where[0] if one.where else place, reason=reason)


def _idle_workers(tree: Tree, place: str) -> Iterator[Hit]:
    for one in tree:
        if one.idle and (one.asked or 1) > 1:
            yield Hit(
                f"{one.title} was given {one.asked} workers, 1 acts: {one.idle}",
                (_fact(one, place, one.idle),),
                "give GeneratorDataset an object with __getitem__ and __len__",
                "MindSpore: GeneratorDataset",
            )


def _python_twins(tree: Tree, place: str) -> Iterator[Hit]:
    for one in tree:
        for twin in one.equivalents:
            yield Hit(
                f"{one.title} runs in Python, and mindspore.dataset.{twin} does the same in C++",
                (_fact(one, place),),
                f"use mindspore.dataset.{twin}, before anything that makes PIL images",
                OPTIMIZE,
                fails=False,
            )


def _shuffled_batches(tree: Tree, place: str) -> Iterator[Hit]:
    kinds = [one.kind for one in tree]
    if "ShuffleDataset" in kinds and "BatchDataset" in kinds[: kinds.index("ShuffleDataset")]:
        shuffle = tree[kinds.index("ShuffleDataset")]
        yield Hit(
            "shuffle comes after batch: whole batches change places, the samples in them stay together",
            (_fact(shuffle, place),),
            "call shuffle before batch",
            OPTIMIZE,
            fails=False,
        )


def _small_files(tree: Tree, place: str) -> Iterator[Hit]:
    for one in tree:
        files = one.files
        if files and files.count >= COUNTED and files.mean < SMALL:
            many = f"{files.count}{' or more' if files.count == COUNTED else ''} files"
            yield Hit(
                f"{one.title} reads {many} of {show_bytes(files.mean)} on average, each opened by itself",
                (Fact("files", f"{many}, {show_bytes(files.mean)} on average", files.where),),
                "pack them into MindRecord files",
                OPTIMIZE,
                fails=False,
            )


def _needless_processes(tree: Tree, place: str) -> Iterator[Hit]:
    """Threads do as well where a row costs less than its way to another process and back, and where all the workers
    together compute for no more than one core: waiting does not hold the interpreter's lock."""
    for one in tree:
        if one.cost is None or not one.processes:
            continue
        wall, cpu, workers = one.cost.wall, one.cost.cpu, one.processes
        light = wall * max(1, workers - 1) < HAND_OVER
        if light or cpu * max(2, workers) <= wall:
            why = (
                "a process takes longer to be handed the row" if light else f"it computes for {1000 * cpu:.2f} ms of it"
            )
            yield Hit(
                f"{one.title} has {workers} worker processes, and takes {1000 * wall:.2f} ms a row: {why}",
                (_fact(one, place, f"{1000 * wall:.2f} ms a row, {1000 * cpu:.2f} ms of them on a core"),),
                "python_multiprocessing=False: threads do as well here, without the memory and /dev/shm of processes",
                OPTIMIZE,
                fails=False,
            )


RULES: tuple[Callable[[Tree, str], Iterator[Hit]], ...] = (
    _idle_workers,
    _python_twins,
    _shuffled_batches,
    _small_files,
    _needless_processes,
)


def _on_this_host(tree: Tree, place: str, env: AscendEnv, seen: Observation) -> Iterator[Hit]:
    """Against the cores and the memory of this host; of a program captured on a CPU machine it only warns.

    The job will run somewhere else then.
    """
    ranks = next((call.facts["ranks"] for call in seen.calls if call.facts["ranks"].value), Fact.unset("ranks", 1))
    hits = [
        *_cores(tree, place, env, ranks),
        *_threads(tree, place, env),
        *_memory(tree, place, env, seen, ranks),
        *_queues(tree, place, env, ranks),
    ]
    elsewhere = seen.captured and seen.on_cpu
    for hit in hits:
        there = f"where the job runs on a machine like this one, {hit.fix}"
        yield replace(hit, fix=there, fails=False) if elsewhere else hit


def _cores(tree: Tree, place: str, env: AscendEnv, ranks: Fact) -> Iterator[Hit]:
    workers = sum(one.workers for one in tree if one.parallel)
    cores = env.cpu.usable
    if workers * ranks.value > cores:
        several = f" at each of {ranks.value} ranks" if ranks.value > 1 else ""
        yield Hit(
            f"{workers} workers{several} for {cores} usable cores",
            (Fact("workers", workers, place), ranks, Fact("usable cores", cores, "affinity mask and cgroup")),
            f"{max(1, cores // ranks.value)} workers in all stages of a rank together",
            OPTIMIZE,
        )


def _threads(tree: Tree, place: str, env: AscendEnv) -> Iterator[Hit]:
    threads = len(env.cpu.online)
    for one in tree:
        if one.parallel and (one.asked or 0) > threads:
            yield Hit(
                f"{one.title} asks for {one.asked} workers, MindSpore refuses more than the host's {threads} threads",
                (_fact(one, place), Fact("online cores", threads, "/sys/devices/system/cpu/online")),
                f"num_parallel_workers={threads} at most",
                "MindSpore: dataset/core/validator_helpers.py, check_num_parallel_workers",
            )


def _memory(tree: Tree, place: str, env: AscendEnv, seen: Observation, ranks: Fact) -> Iterator[Hit]:
    """Every worker process starts as a copy of the program; MindSpore multiplies its resident memory."""
    processes = sum(one.processes for one in tree)
    if not processes or not seen.memory:
        return
    available = env.available_memory
    needed = seen.memory * processes * ranks.value
    if needed > MEMORY * available:
        yield Hit(
            f"{processes * ranks.value} worker processes of {show_bytes(seen.memory)} may take {show_bytes(needed)}, "
            f"{show_bytes(available)} are available",
            (Fact("worker processes", processes, place), Fact("available memory", available, "/proc/meminfo")),
            "fewer workers, or python_multiprocessing=False where the functions mostly wait",
            "MindSpore: dataset/engine/datasets_user_defined.py",
            fails=False,
        )


def _queues(tree: Tree, place: str, env: AscendEnv, ranks: Fact) -> Iterator[Hit]:
    """/dev/shm by MindSpore's own formula, for the operations that fix their row size."""
    from pytest_ascendenv.probes.memory import queue_bytes

    pools = [one for one in tree if one.processes and one.row_bytes]
    need = sum(queue_bytes(one.processes, one.prefetch or 16, one.row_bytes or 0, ranks.value) for one in pools)
    if not need:
        return
    shm = env.shared_memory
    free = shm.size if shm.free is None else shm.free
    if need > 0.8 * free:
        yield Hit(
            f"the worker queues need {show_bytes(need)} of /dev/shm, {show_bytes(free)} are free",
            (*(_fact(one, place) for one in pools), Fact("free in /dev/shm", show_bytes(free), shm.source)),
            "a larger /dev/shm (--shm-size), fewer workers or a smaller prefetch size",
            "MindSpore: dataset/engine/datasets_user_defined.py, _check_shm_usage",
        )
