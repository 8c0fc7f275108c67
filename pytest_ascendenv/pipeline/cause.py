"""Why a pipeline is as slow as it is: who had the cores while it was measured. Pure; ``load`` reads the figures.

The thresholds were set on 140 trials (quiet, pinned, with steady and bursty intruders, sleeping pipelines) with wide
gaps: the waiting share was .16 or less against .33 or more, the foreign share .01 or less against .15 or more.
Run delay alone cannot tell a neighbour from the pipeline's own crowding, and foreign load alone would blame a
neighbour for a pipeline that sleeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_ascendenv.probes import cpulist

WAITING = 0.20
FOREIGN = 0.12
IDLE = 0.15
CROWD = 4
"""Threads a core above which a process that may use the whole machine has too many workers. A pipeline with MindSpore's
default workers had 5 to 7 active threads on 2 cores without any loss against fewer ones."""
FULL = 0.8
"""Share of the time that one thread computes, from where on it is what the pipeline waits for: more cores do not help.
Measured 1.00 for a generator that computes, 0.02 and less for one that sleeps."""
THROTTLED = 0.10
"""Share of the scheduler's periods in which the quota was used up: more than a chance one."""
PERIOD = 0.1  # seconds, the kernel's default cpu.max period

Kind = Literal["STARVED", "CROWDED", "CPU-BOUND", "WAITS", "THROTTLED", "UNKNOWN"]


@dataclass(frozen=True)
class Intruder:
    """Another process and the CPU-seconds per second that it took on the cores of the pipeline."""

    pid: int
    name: str
    share: float


@dataclass(frozen=True)
class Load:
    """What happened on the cores of the measured process.

    ``seconds`` of wall time; ``cores`` it may use, of ``online`` ones; ``own`` CPU-seconds of its threads and workers;
    ``busy`` CPU-seconds of anyone on those cores (None: ``why`` it is not known); ``waited`` seconds that its busiest
    thread could have run but had no core, ``ran`` seconds that one thread ran at most (None where the kernel does not
    tell); ``throttled`` periods in which its cgroup's quota was used up; ``active`` threads that ran for a tenth of the
    time or more, or wanted to.
    """

    seconds: float
    cores: tuple[int, ...]
    online: int
    own: float
    busy: float | None
    waited: float | None
    throttled: int = 0
    active: int = 0
    intruders: tuple[Intruder, ...] = ()
    why: str = ""
    ran: float | None = None

    @property
    def capacity(self) -> float:
        """CPU-seconds that the cores can give."""
        return self.seconds * len(self.cores)

    @property
    def foreign(self) -> float | None:
        """Share of the capacity that went to other processes; None where it is not known."""
        return None if self.busy is None else min(1.0, max(0.0, (self.busy - self.own) / self.capacity))

    @property
    def idle(self) -> float | None:
        return None if self.busy is None else max(0.0, 1 - self.busy / self.capacity)

    @property
    def waiting(self) -> float | None:
        """Share of the time that the busiest thread had no core."""
        return None if self.waited is None else self.waited / self.seconds


@dataclass(frozen=True)
class Cause:
    """``kind`` in one word, ``text`` and ``fix`` for people."""

    kind: Kind
    text: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def cause(load: Load) -> Cause:
    """The cause that the figures speak for."""
    if load.throttled * PERIOD >= THROTTLED * load.seconds:
        return _throttled(load)
    if load.waiting is None:
        return Cause("UNKNOWN", "the kernel does not tell how long threads wait for a core (no schedstat)")
    if load.foreign is None or load.idle is None:
        return _without_stat(load)
    if load.waiting >= WAITING and load.foreign >= FOREIGN:
        return _starved(load)
    if load.waiting >= WAITING and (_narrow(load) or load.active > CROWD * len(load.cores)):
        return _crowded(load)
    if load.waiting >= WAITING or (load.idle < IDLE and load.foreign < IDLE):
        return Cause(
            "CPU-BOUND",
            f"its threads use {load.own / load.seconds:.1f} CPUs of {_cores(load)}, nobody else has a share of note",
            "make the slowest operation cheaper, or give the job more cores",
        )
    if load.ran is not None and load.ran >= FULL * load.seconds:
        return _one_thread(load.ran / load.seconds, load)
    together = load.own / load.seconds
    return Cause(
        "WAITS",
        f"its threads use {together:.1f} CPUs together and do not wait for a core (its busiest {load.waiting:.0%} of "
        "the time): it waits for I/O, a sleep or a lock"
        + (" (Python lets one thread compute at a time)" if together >= FULL else ""),
        "give the operation that waits more workers, or faster storage",
    )


def locked(load: Load, cores: float) -> Cause:
    """The cause where threads that share a lock compute on about one core, which their waiting alone does not show."""
    return Cause(
        "CPU-BOUND",
        f"its slow operation computes on {cores:.1f} of {_cores(load)}: its threads share a lock and take turns",
        "use worker processes, or an operation without the lock",
    )


def _one_thread(share: float, load: Load) -> Cause:
    alone = "" if len(load.cores) == 1 else f": it fills one core, the others of {_cores(load)} do not help it"
    return Cause(
        "CPU-BOUND",
        f"one of its threads computes {share:.0%} of the time{alone}",
        "make the work of that thread cheaper, or share it among workers",
    )


def at_rest(rate: float, load: Load) -> float | None:
    """About the rate on the same cores without the others, where they took some: not exact enough for a verdict."""
    if load.foreign is None or load.foreign >= 1 or cause(load).kind != "STARVED":
        return None
    return rate / (1 - load.foreign)


def _throttled(load: Load) -> Cause:
    return Cause(
        "THROTTLED",
        f"the CPU quota of its control group was used up {load.throttled} times in {load.seconds:.1f} s",
        "raise the CPU limit of the container (cpu.max), or use fewer workers",
    )


def _without_stat(load: Load) -> Cause:
    if (load.waiting or 0) < WAITING:
        return Cause("UNKNOWN", f"foreign load is not known ({load.why}); its threads did not wait for cores")
    return Cause(
        "UNKNOWN",
        f"its busiest thread had no core for {load.waiting:.0%} of the time, whose fault is not known: {load.why}",
    )


def _starved(load: Load) -> Cause:
    who = ", ".join(f"{each.name} (pid {each.pid}, {each.share:.1f} CPUs)" for each in load.intruders[:3])
    narrow = _narrow(load)
    return Cause(
        "STARVED",
        f"{load.foreign:.0%} of {_cores(load)} went to other processes"
        + (f": {who}" if who else " that cannot be seen from here")
        + f"; its busiest thread had no core for {load.waiting:.0%} of the time",
        "stop them or bind them to other cores" + (", or widen the binding of this process" if narrow else ""),
    )


def _crowded(load: Load) -> Cause:
    text = (
        f"{load.active} of its own threads share {_cores(load)}, nobody else does; "
        f"the busiest had no core for {load.waiting:.0%} of the time"
    )
    if _narrow(load):
        few = f"{len(load.cores)} of {load.online} CPUs"
        fix = f"widen the binding (taskset, cpuset, CPU_AFFINITY_CONF): it may use {few}"
    else:
        fix = "use fewer workers, or a machine with more cores"
    return Cause("CROWDED", text, fix)


def _narrow(load: Load) -> bool:
    return len(load.cores) < load.online


def _cores(load: Load) -> str:
    word = "CPU" if len(load.cores) == 1 else "CPUs"
    return f"{word} {cpulist.show(load.cores)}"
