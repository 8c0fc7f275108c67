"""Reads what happened on the cores of this process between two moments, for ``cause``."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from pytest_ascendenv.pipeline import processes
from pytest_ascendenv.pipeline.cause import FOREIGN, Intruder, Load
from pytest_ascendenv.pipeline.processes import PROC, Threads
from pytest_ascendenv.probes import cpu
from pytest_ascendenv.probes.host import Host

ACTIVE = 0.1  # share of the time that a thread ran or wanted to
_TICK = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)  # fields idle and iowait of a cpu line in /proc/stat
_ACCOUNTED = 8  # fields up to steal; guest time is part of user time
_LAST_CPU = 36  # of /proc/PID/stat, counted from the state


@dataclass(frozen=True)
class Moment:
    """The counters at one moment. ``busy`` are ticks of the allowed cores, None where they cannot be trusted."""

    time: float
    cores: tuple[int, ...]
    threads: Threads
    used: float
    busy: int | None
    throttled: int | None


Ticks = dict[int, tuple[int, int]]
"""By process: CPU ticks and the core it last ran on."""


def moment() -> Moment:
    """The counters of this process, its descendants and its cores: about a millisecond."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    own = os.getpid()
    return Moment(
        time.perf_counter(),
        cores,
        processes.threads(own),
        processes.cpu_seconds(own),
        _busy(cores),
        cpu.throttled(Host(environ={})),
    )


def ticks() -> Ticks:
    """The CPU time of every process that can be seen: about 50 us each."""
    found: Ticks = {}
    for entry in os.listdir(PROC):
        if entry.isdigit() and (fields := processes.stat(int(entry))):
            found[int(entry)] = (int(fields[11]) + int(fields[12]), int(fields[_LAST_CPU]))
    return found


def load(before: Moment, after: Moment, first: tuple[float, Ticks] | None) -> Load:
    """What happened between two moments. ``first`` are earlier ticks of all processes and when they were read; they are
    read again only where others took a good share of the cores."""
    spent = processes.spent(before.threads, after.threads)
    seconds = after.time - before.time
    busiest = max(spent.values(), key=lambda thread: thread.run + thread.wait, default=None)
    busy = None if before.busy is None or after.busy is None else (after.busy - before.busy) / _TICK
    living = sum(thread.run for thread in spent.values()) / 1e9
    own = max(living, after.used - before.used)  # a dataset read again ends the threads of its last epoch
    throttled = (after.throttled or 0) - (before.throttled or 0)
    seen = Load(
        seconds,
        after.cores,
        os.cpu_count() or len(after.cores),
        own,
        busy,
        None if busiest is None or living == 0 else busiest.wait / 1e9,
        max(0, throttled),
        sum(thread.run + thread.wait >= ACTIVE * seconds * 1e9 for thread in spent.values()),
        why="" if busy is not None else _why(),
        ran=max((thread.run for thread in spent.values()), default=0) / 1e9 if living else None,
    )
    if first is None or seen.foreign is None or seen.foreign < FOREIGN:
        return seen
    return Load(**{**vars(seen), "intruders": _intruders(first, after)})


def foreign(before: Moment, after: Moment) -> float | None:
    """The share of the cores that others had between two moments."""
    return load(before, after, None).foreign


def _busy(cores: tuple[int, ...]) -> int | None:
    if _virtual_stat():
        return None
    total = 0
    for line in (PROC / "stat").read_text().splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            values = list(map(int, fields))[:_ACCOUNTED]
            total += sum(value for place, value in enumerate(values) if place not in _IDLE)
    return total or None


def _virtual_stat() -> bool:
    """Whether lxcfs answers for /proc/stat: it then shows the container's own share, not the cores'."""
    try:
        lines = (PROC / "self/mountinfo").read_text().splitlines()
    except OSError:
        return True
    return any(line.split()[4] == "/proc/stat" for line in lines)


def _why() -> str:
    return "/proc/stat is not the host's own (lxcfs)" if _virtual_stat() else "/proc/stat does not count"


def _intruders(first: tuple[float, Ticks], after: Moment) -> tuple[Intruder, ...]:
    """Who else ran on the cores, the busiest first: 2% of a core and more."""
    begun, before = first
    own = {os.getpid(), os.getppid(), *processes.children(os.getpid())}
    now, seconds = ticks(), time.perf_counter() - begun
    found = [
        ((used - before.get(pid, (0, 0))[0]) / _TICK / seconds, pid)
        for pid, (used, last) in now.items()
        if pid not in own and last in after.cores
    ]
    worst = sorted((each for each in found if each[0] >= 0.02), reverse=True)[:5]
    return tuple(Intruder(pid, processes.name(pid), share) for share, pid in worst)
