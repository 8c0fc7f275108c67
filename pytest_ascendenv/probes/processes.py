"""The processes of the host: who uses which core, and which of them are NPU jobs. Works without privileges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.probes.host import Host

NPU_THREADS = frozenset({"acl_thread", "release_thread", "hccl_watchdog_t", "hcclComm_watchd", "backward_thread"})
"""Thread names that torch_npu gives (NPUAffinityController.cpp, 6.0 to 26.1); they tell a job without npu-smi."""

TICKS = 100  # of utime and stime in a second, USER_HZ on every Linux that runs here


@dataclass(frozen=True)
class Sample:
    """One process at one moment: CPU time in seconds and the core it ran on last."""

    pid: int
    comm: str
    parent: int
    session: int
    seconds: float
    core: int
    started: int


@dataclass(frozen=True)
class NpuJob:
    """A torch_npu job, with the cores that its named threads may use."""

    pid: int
    comm: str
    threads: Mapping[str, tuple[int, ...]]

    @property
    def cores(self) -> frozenset[int]:
        return frozenset(core for cores in self.threads.values() for core in cores)

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.comm}) with {', '.join(sorted(self.threads))} on {cpulist.show(self.cores)}"


def pids(host: Host) -> list[int]:
    try:
        return [int(name) for name in os.listdir(host.path("/proc")) if name.isdigit()]
    except OSError:
        return []


def sample(host: Host) -> dict[int, Sample]:
    """Every visible process; those that end meanwhile are left out."""
    found = {}
    root = _proc(host)
    for pid in pids(host):
        one = parse_stat(_read(f"{root}/{pid}/stat"))
        if one is not None:
            found[pid] = one
    return found


def parse_stat(text: str) -> Sample | None:
    """Fields of /proc/PID/stat; the name may hold blanks and brackets. None for what is no such line."""
    left, bracket, right = text.rpartition(")")
    number, _, comm = left.partition(" (")
    fields = right.split()
    if not bracket or not number.isdigit() or len(fields) < 37:
        return None
    seconds = (int(fields[11]) + int(fields[12])) / TICKS
    return Sample(int(number), comm, int(fields[1]), int(fields[3]), seconds, int(fields[36]), int(fields[19]))


def npu_jobs(host: Host) -> list[NpuJob]:
    """The torch_npu jobs of the host, by the names of their threads."""
    root = _proc(host)
    return [job for pid in pids(host) if (job := _npu_job(root, pid)) is not None]


def foreign_npu_jobs(host: Host) -> tuple[NpuJob, ...]:
    """The jobs outside the family of this process; on a captured host all of them."""
    jobs = npu_jobs(host)
    if not jobs or not host.real:
        return tuple(jobs)
    lines = {pid: one for job in jobs for pid, one in _line(host, job.pid).items()}
    family = own({**lines, **_line(host, os.getpid())}, os.getpid())
    return tuple(job for job in jobs if job.pid not in family)


def _line(host: Host, pid: int) -> dict[int, Sample]:
    """A process and all that it comes from, without a look at any other."""
    found: dict[int, Sample] = {}
    while pid not in found and (one := parse_stat(_read(f"{_proc(host)}/{pid}/stat"))) is not None:
        found[pid] = one
        pid = one.parent
    return found


def _npu_job(root: str, pid: int) -> NpuJob | None:
    folder = f"{root}/{pid}/task"
    if not _many_threads(folder):
        return None
    threads: dict[str, tuple[int, ...]] = {}
    for tid in _names(folder):
        comm = _read(f"{folder}/{tid}/comm").rstrip("\n")
        if comm in NPU_THREADS:
            threads[comm] = tuple(sorted({*threads.get(comm, ()), *allowed(_read(f"{folder}/{tid}/status"))}))
    return NpuJob(pid, _read(f"{root}/{pid}/comm").rstrip("\n"), threads) if threads else None


def _many_threads(folder: str) -> bool:
    """The link count of /proc/PID/task is 2 plus its threads: one cheap call instead of a listing.

    An NPU job has at least three threads. File systems that count no folders say 1: look inside then.
    """
    try:
        links = os.stat(folder).st_nlink
    except OSError:
        return False
    return links == 1 or links > 3


def allowed(status: str) -> tuple[int, ...]:
    """The cores of Cpus_allowed_list in a status file."""
    for line in status.splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return cpulist.parse(line.partition(":")[2])
    return ()


def allowed_cores(host: Host, pid: int) -> tuple[int, ...]:
    """The cores that the main thread of a process may use; () where it has ended."""
    return allowed(_read(f"{_proc(host)}/{pid}/status"))


def own(samples: Mapping[int, Sample], pid: int) -> frozenset[int]:
    """This process, those it came from and those it has started in its session; all others are foreign."""
    family = set(_ancestors(samples, pid))
    children: dict[int, list[int]] = {}
    for one in samples.values():
        children.setdefault(one.parent, []).append(one.pid)
    session = samples[pid].session if pid in samples else -1
    open_ones = [pid]
    while open_ones:
        for child in children.get(open_ones.pop(), ()):
            if samples[child].session == session and child not in family:
                family.add(child)
                open_ones.append(child)
    return frozenset(family)


def _ancestors(samples: Mapping[int, Sample], pid: int) -> Iterator[int]:
    while pid in samples:
        yield pid
        pid = samples[pid].parent


def hidden(host: Host) -> bool:
    """Whether most of the host's tasks are invisible here: a PID namespace of its own (a container)."""
    parts = _read(f"{_proc(host)}/loadavg").split()
    total = parts[3].partition("/")[2] if len(parts) > 3 else ""
    return total.isdigit() and int(total) > 4 * _tasks(host, pids(host))


def _tasks(host: Host, visible: Iterable[int]) -> int:
    count, root = 0, _proc(host)
    for pid in visible:
        try:
            count += max(1, os.stat(f"{root}/{pid}/task").st_nlink - 2)
        except OSError:
            continue
    return max(1, count)


def _proc(host: Host) -> str:
    return str(host.path("/proc"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(name: str) -> str:
    """A short file of /proc; "" where the process has ended or forbids it."""
    try:
        handle = os.open(name, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(handle, 16384).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
