"""The cores of the host and those that this process may really use."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property

from pytest_ascendenv.probes import cgroup, cpulist
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Fact, Unknown

ONLINE = "/sys/devices/system/cpu/online"
STATUS = "/proc/self/status"


class Cpu:
    """Each fact is read once, when it is first asked for; a value that cannot be obtained raises Unknown.

    ``usable`` is the number of whole cores this process can keep busy: the cores that are online, in its mask and in
    its cpuset, and no more than the CPU quota rounded down (2.5 cores feed two busy threads), but at least 1.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def online(self) -> tuple[int, ...]:
        """The cores the kernel runs."""
        return tuple(self._online.get())

    @property
    def mask(self) -> tuple[int, ...]:
        """The cores that this process's affinity allows (taskset, numactl, msrun --bind_core)."""
        return tuple(self._mask.get())

    @property
    def cpuset(self) -> tuple[int, ...]:
        """The cores that the cgroup allows; all online ones where no cpuset limits them."""
        return tuple(self._cpuset.get())

    @property
    def quota(self) -> float | None:
        """The CPU quota in cores, the least of this group and its parents; None where there is none."""
        value: float | None = self._quota.get()
        return value

    @cached_property
    def granted(self) -> tuple[int, ...]:
        """The cores that the kernel would give to a thread that asks for any: online and in the cpuset."""
        if self._cpuset.status == "unknown":
            return self.online
        return tuple(sorted(set(self.online) & set(self.cpuset)))

    @cached_property
    def allowed(self) -> tuple[int, ...]:
        """The cores that are online, in the mask and in the cpuset."""
        return tuple(sorted(set(self.mask) & set(self.granted)))

    @property
    def usable(self) -> int:
        cores = len(self.allowed)
        return cores if self.quota is None else min(cores, max(1, int(self.quota + 1e-6)))

    def facts(self) -> tuple[Fact, ...]:
        """The evidence, as short texts: core lists and cores."""
        lists = (self._online, self._mask, self._cpuset)
        return (*(_listed(fact) for fact in lists), self._quota)

    @cached_property
    def _online(self) -> Fact:
        return _known("online cores", self._read_online)

    @cached_property
    def _mask(self) -> Fact:
        return _known("affinity mask", self._read_mask)

    @cached_property
    def _cpuset(self) -> Fact:
        return _known("cpuset", self._read_cpuset)

    @cached_property
    def _quota(self) -> Fact:
        try:
            return quota(self._host)
        except Unknown as error:
            return Fact.unknown("CPU quota", str(error))

    def _read_online(self) -> tuple[str, str]:
        return self._host.read(ONLINE), ONLINE

    def _read_mask(self) -> tuple[str, str]:
        if self._host.real:
            return cpulist.show(os.sched_getaffinity(0)), "sched_getaffinity"
        for line in self._host.read(STATUS).splitlines():
            if line.startswith("Cpus_allowed_list:"):
                return line.partition(":")[2], STATUS
        raise Unknown(f"{STATUS} has no Cpus_allowed_list")

    def _read_cpuset(self) -> tuple[str, str]:
        found = cgroup.group(self._host, "cpuset")
        names = ("cpuset.effective_cpus", "cpuset.cpus") if found.version == 1 else ("cpuset.cpus.effective",)
        source, text = cgroup.first(self._host, found.folders, *names)
        return (text, source) if text else (cpulist.show(self.online), f"no cpuset in {cgroup.GROUPS}")


def quota(host: Host) -> Fact:
    """The CPU quota in cores: the least over this process's group and its parents."""
    found = cgroup.group(host, "cpu")
    limits = [limit for folder in found.folders if (limit := _limit(host, found.version, folder))]
    if not limits:
        return Fact.unset("CPU quota", None, cgroup.GROUPS)
    cores, source = min(limits)
    return Fact("CPU quota", round(cores, 3), source)


def throttled(host: Host) -> int | None:
    """How often the kernel has stopped this process's group because its quota was used up; None where it has none."""
    try:
        found = cgroup.group(host, "cpu")
    except Unknown:
        return None
    counts = [
        count for folder in found.folders if (count := _throttled(cgroup.read(host, f"{folder}/cpu.stat"))) is not None
    ]
    return sum(counts) if counts else None


def _throttled(text: str) -> int | None:
    fields = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
    count = fields.get("nr_throttled", "")
    return int(count) if count.isdigit() else None


def _limit(host: Host, version: int, folder: str) -> tuple[float, str] | None:
    if version == 1:
        source = f"{folder}/cpu.cfs_quota_us"
        quota, period = cgroup.read(host, source), cgroup.read(host, f"{folder}/cpu.cfs_period_us")
    else:
        source = f"{folder}/cpu.max"
        quota, _, period = cgroup.read(host, source).partition(" ")
    if not quota.isdigit() or not period.strip().isdigit() or int(period) == 0:
        return None  # "max", -1, or a root group that has no such file
    return int(quota) / int(period), source


def _known(name: str, read: Callable[[], tuple[str, str]]) -> Fact:
    try:
        text, source = read()
        return Fact(name, cpulist.parse(text), source)
    except (Unknown, ValueError) as error:
        return Fact.unknown(name, str(error))


def _listed(fact: Fact) -> Fact:
    if fact.value is None:
        return fact
    return Fact(fact.name, cpulist.show(fact.value) or "none", fact.source, fact.status, fact.reason)
