"""The preconditions by name, each loaded when it is first used."""

from __future__ import annotations

import importlib
from typing import NamedTuple, cast

from pytest_ascendenv.verdict import Check


class Entry(NamedTuple):
    """Where a check lives and what ``pytest --markers`` says of it."""

    target: str
    help: str
    marker: bool = True  # False: an item and a settings key only, so that a plain word does not clash with users' marks


TABLE: dict[str, Entry] = {
    "affinity_mode": Entry(
        "affinity:AffinityMode",
        'affinity_mode(mode): CPU_AFFINITY_CONF must bind as mode says: "off", "coarse" or "fine" (or 0, 1, 2).',
    ),
    "local_storage": Entry(
        "storage:LocalStorage",
        "local_storage(*paths, write, read): every path must live on a disk of this host (links, binds, overlay "
        'resolved), which writes and reads that fast ("1 GB/s").',
    ),
    "small_files": Entry(
        "smallfiles:SmallFiles",
        'small_files(*paths, p99): 99 of 100 files there must open and be read in that time ("10 ms").',
    ),
    "local_cache": Entry(
        "caches:LocalCache",
        "local_cache(*paths): the cache directories (HF_HOME, ASCEND_CACHE_PATH …) must be on a disk of this host.",
    ),
    "disk_space": Entry(
        "space:DiskSpace",
        'disk_space(*paths, free, inodes): the file systems of the data must have that much room ("100 GB").',
    ),
    "shared_memory": Entry(
        "memory:SharedMemory",
        'shared_memory(minimum): /dev/shm must have room for MindSpore\'s worker processes, or so much free ("8 GB").',
        marker=False,
    ),
    "open_files": Entry(
        "limits:OpenFiles",
        "open_files(minimum): the limit of open files (ulimit -n) must carry MindSpore's worker pool, or be that high.",
        marker=False,
    ),
    "min_workers": Entry(
        "workers:MinWorkers",
        "min_workers(n): every parallel stage of the dataset has n workers or more, and all fit the usable cores.",
    ),
    "graph_mode": Entry(
        "training:GraphMode", "graph_mode: the training call must run in GRAPH_MODE, not in PYNATIVE_MODE."
    ),
    "amp_level": Entry(
        "training:AmpLevel",
        'amp_level(level): the network must train at this AMP level: "O0", "O1", "O2", "O3" or "auto".',
    ),
    "sink_mode": Entry(
        "training:SinkMode",
        "sink_mode: Model.train or Model.fit must receive dataset_sink_mode=True, and the sink must act.",
    ),
    "program_rules": Entry(
        "program_rules:ProgramRules",
        "program_rules: no setting of the training program is void or at odds with another one.",
        marker=False,
    ),
    "dataset_rules": Entry(
        "dataset_rules:DatasetRules",
        "dataset_rules: the program's input pipeline has no known brake and fits this host.",
        marker=False,
    ),
    "launch_rules": Entry(
        "launch:LaunchRules",
        "launch_rules: the launch script must not pin a worker pool to one core, nor bind twice.",
        marker=False,
    ),
    "single_device": Entry(
        "single_device:SingleDevice",
        "single_device(worker_memory): the launch must run on one NPU of one node, without parallelism.",
        marker=False,
    ),
    "min_throughput": Entry(
        "throughput:MinThroughput",
        "min_throughput(rate): the throughput fixture must measure at least this many samples/s.",
    ),
    "exclusive_host": Entry(
        "exclusive:ExclusiveHost",
        "exclusive_host: no other job uses the cores of this one (measured for three seconds).",
    ),
    "worker_cores": Entry(
        "worker_cores:WorkerCores",
        "worker_cores(workers, forked=False): the binding leaves cores for the workers of each rank; forked=True for a "
        "pool that the main thread starts.",
    ),
    "pinned_cores": Entry(
        "pinned:PinnedCores", "pinned_cores: no other job claims the cores that fine binding pins.", marker=False
    ),
    "cpu_mask": Entry(
        "cores:CpuMask",
        "cpu_mask: the affinity mask and the cpuset leave the cores that the variables promise.",
        marker=False,
    ),
    "cpu_quota": Entry(
        "cores:CpuQuota", "cpu_quota: the CPU quota carries the threads that are started.", marker=False
    ),
    "omp_binding": Entry("cores:OmpBinding", "omp_binding: OpenMP does not bind the main thread.", marker=False),
    "dead_variables": Entry(
        "dead:DeadVariables", "dead_variables: no variable is set that the job's framework never reads.", marker=False
    ),
    "versions": Entry(
        "versions:Versions", "versions: the installed versions are not known to break together.", marker=False
    ),
}


def load(name: str) -> Check:
    """The check of that name; KeyError where there is none."""
    module, _, cls = TABLE[name].target.partition(":")
    return cast(Check, getattr(importlib.import_module(f"pytest_ascendenv.checks.{module}"), cls)())


HOST_CHECKS: tuple[str, ...] = (
    "pinned_cores",
    "cpu_mask",
    "cpu_quota",
    "omp_binding",
    "dead_variables",
    "shared_memory",
    "open_files",
    "versions",
)
"""Run where nothing is declared: they need no expected value."""

SUBJECT_CHECKS: dict[str, tuple[str, ...]] = {
    "launch": ("launch_rules",),
    "program": ("program_rules", "dataset_rules"),
}
"""Settings key of a subject -> its rules that need no expected value; they run wherever it is declared."""

OF_PROGRAM = frozenset({"min_workers", "graph_mode", "amp_level", "sink_mode", "min_throughput"})
"""Judged of the program where both a program and a launch script are declared."""
