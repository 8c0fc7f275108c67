"""How much of a core a thread pinned to it really gets, and who takes the rest.

A child that imports nothing of the user's pins one busy thread to each core for a quarter of a second, three times
in under three seconds, and reads from /proc/thread-self/schedstat how long each thread waited while it could have run.
Measured on 2 cores (kernel 6.18): idle 0.00 to 0.10, one busy neighbour 0.49 to 0.50, two 0.67 to 0.75; a single window
misses bursts, so the median of three counts.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_ascendenv.probes import cpulist, processes
from pytest_ascendenv.probes.children import ask
from pytest_ascendenv.probes.cpu import throttled
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.lock import measuring
from pytest_ascendenv.verdict import Unknown

WINDOW = 0.25  # seconds of each of three windows
PAUSE = 0.75  # seconds between them, so that bursts are met
LIMIT = 20.0  # seconds after which the probing child is killed; it takes 2.4
NOTABLE = 0.05  # share of a core from which on a process is named


@dataclass(frozen=True)
class Intruder:
    """A process that used a probed core meanwhile; ``share`` is of one core, ``own``: this process started it."""

    pid: int
    name: str
    share: float
    allowed: tuple[int, ...]
    core: int
    own: bool

    def __str__(self) -> str:
        kind = "own " if self.own else ""
        where = cpulist.show(self.allowed) or str(self.core)
        return f"{kind}pid {self.pid} ({self.name}), {self.share:.0%} of a core, allowed on {where}"


@dataclass(frozen=True)
class Contention:
    """What the probe saw. ``waits`` is the median share of time that a thread on each core waited; ``stolen`` the share
    that the hypervisor took; ``throttled`` how often the CPU quota stopped this group; ``hidden`` whether other
    processes of the host cannot be seen from here."""

    waits: Mapping[int, float]
    intruders: tuple[Intruder, ...] = ()
    throttled: int = 0
    stolen: Mapping[int, float] = field(default_factory=dict)
    hidden: bool = False

    @property
    def worst(self) -> float:
        return max(self.waits.values(), default=0.0)


def measure(host: Host, cores: Sequence[int]) -> Contention:
    """Probe ``cores`` for three seconds. Raises Unknown on a captured host, and where the kernel keeps no schedstat."""
    if not host.real:
        raise Unknown("contention cannot be measured on a captured host")
    what = f"busy loop on cores {cpulist.show(cores)}"
    with measuring(what):
        before, stopped, ticks, start = processes.sample(host), throttled(host), _steal(host), time.monotonic()
        order = {"cores": list(cores), "window": WINDOW, "pause": PAUSE, "rounds": 3}
        answer = ask("burn", order, LIMIT, what)
        seconds, after = time.monotonic() - start, processes.sample(host)
    return Contention(
        waits(answer["rounds"], cores),
        intruders(host, before, after, seconds, cores),
        max(0, (throttled(host) or 0) - (stopped or 0)),
        _stolen(ticks, _steal(host), seconds),
        processes.hidden(host),
    )


def waits(rounds: Sequence[Mapping[str, Sequence[int]]], cores: Sequence[int]) -> dict[int, float]:
    """Core -> median wait share of the windows; raises Unknown where a core could not be probed."""
    found = {}
    for core in cores:
        pairs = [one[str(core)] for one in rounds if str(core) in one]
        shares = [wait / (run + wait) for run, wait in pairs if run > 0]
        if not pairs:
            raise Unknown(f"core {core} cannot be probed: it is outside this process's cpuset")
        if not shares:
            raise Unknown("this kernel keeps no schedstat (/proc/thread-self/schedstat stays 0)")
        found[core] = statistics.median(shares)
    return found


def intruders(
    host: Host,
    before: Mapping[int, processes.Sample],
    after: Mapping[int, processes.Sample],
    seconds: float,
    cores: Iterable[int],
) -> tuple[Intruder, ...]:
    """The processes that ran on ``cores``, the busiest first; those that ended meanwhile are not seen."""
    probed, family = set(cores), processes.own(after, os.getpid())
    found = []
    for pid, now in after.items():
        then = before.get(pid)
        used = now.seconds - (then.seconds if then and then.started == now.started else 0.0)
        share = used / seconds
        if pid != os.getpid() and share >= NOTABLE:
            allowed = processes.allowed_cores(host, pid)
            if now.core in probed or (allowed and set(allowed) <= probed):
                found.append(Intruder(pid, now.comm, share, allowed, now.core, pid in family))
    return tuple(sorted(found, key=lambda one: -one.share))


def _steal(host: Host) -> dict[int, int]:
    """Core -> ticks stolen by the hypervisor: the 8th number of its line in /proc/stat."""
    found = {}
    for line in host.read("/proc/stat").splitlines():
        fields = line.split()
        if line.startswith("cpu") and fields[0][3:].isdigit() and len(fields) > 8:
            found[int(fields[0][3:])] = int(fields[8])
    return found


def _stolen(before: Mapping[int, int], after: Mapping[int, int], seconds: float) -> dict[int, float]:
    return {core: (ticks - before.get(core, ticks)) / processes.TICKS / seconds for core, ticks in after.items()}
