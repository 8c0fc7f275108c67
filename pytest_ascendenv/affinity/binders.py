"""Everything that binds the threads of a job to cores, side by side: which of it acts, and which is void."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_ascendenv.affinity import openmp
from pytest_ascendenv.affinity.effect import CONF, Affinity
from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.probes.cpu import Cpu
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

V1_CPUSET = "/sys/fs/cgroup/cpuset/cpuset.cpus"
"""Where MindSpore's binders take their cores from, and nowhere else: set_cpu_affinity (runtime/thread_bind_core.py)
and, in 2.10, msrun --bind_core (parallel/cluster/process_entity/_bind.py), a dictionary of cores included."""

MSRUN = "MSRUN_CPU_LIST"
State = Literal["acts", "void", "dead", "unclear"]


@dataclass(frozen=True)
class Binder:
    """``state``: it acts, it is void (something keeps it from acting), or dead (nothing in the job reads it)."""

    name: str
    state: State
    says: str

    def __str__(self) -> str:
        return f"{self.name} {self.state}: {self.says}"


class Binders:
    """The binders of this host and process, from the widest (cpuset) to the narrowest (OpenMP)."""

    def __init__(self, host: Host, cpu: Cpu, affinity: Affinity) -> None:
        self._host, self._cpu, self._affinity = host, cpu, affinity

    def all(self) -> tuple[Binder, ...]:
        return (*self._limits(), *self._conf(), *self._mindspore(), *self._openmp(), *self._mindformers())

    def table(self) -> str:
        """One line a binder, aligned."""
        found = self.all()
        width = max((len(binder.name) for binder in found), default=0)
        return "\n".join(f"{binder.name.ljust(width)}  {binder.state:7}  {binder.says}" for binder in found)

    def launcher(self) -> str:
        """What most likely narrowed the mask of this process."""
        environ = self._host.environ
        for name, launcher in (
            (MSRUN, "msrun --bind_core"),
            ("OMPI_COMM_WORLD_RANK", "mpirun (Open MPI binds by default; --bind-to none stops it)"),
            ("SLURM_CPU_BIND", "srun --cpu-bind"),
        ):
            if name in environ:
                return launcher
        return "taskset, numactl or the launcher"

    def living(self) -> str:
        """What binds a MindSpore job on this host: its own binders need the cpuset file of cgroup v1."""
        if self.mindspore_binds():
            return "msrun --bind_core=True, or mindspore.runtime.set_cpu_affinity(True)"
        return f"taskset or numactl around each rank (MindSpore's own binders need {V1_CPUSET}, which is not here)"

    def mindspore_binds(self) -> bool:
        """Whether MindSpore finds its list of cores; else it warns and binds nothing (measured with 2.7, 2.9, 2.10)."""
        try:
            return bool(cpulist.parse(self._host.read(V1_CPUSET)))
        except (Unknown, ValueError):
            return False

    def msrun_cores(self) -> tuple[int, ...] | None:
        """The cores of MSRUN_CPU_LIST, which is a Python list or ranges; None where it is not set or not readable."""
        text = self._host.environ.get(MSRUN)
        if text is None:
            return None
        try:
            return cpulist.parse(re.sub(r"[\[\]'\" ]", "", text)) or None
        except ValueError:
            return None

    def _limits(self) -> Iterator[Binder]:
        cpu = self._cpu
        if len(cpu.granted) < len(cpu.online):
            yield Binder("cpuset", "acts", f"cores {cpulist.show(cpu.granted)} of {len(cpu.online)}")
        if len(cpu.allowed) < len(cpu.granted):
            yield Binder("mask", "acts", f"cores {cpulist.show(cpu.allowed)}, set by {self.launcher()}")
        try:
            if cpu.quota is not None and cpu.quota < len(cpu.allowed):
                yield Binder("CPU quota", "acts", f"{cpu.quota:g} cores' worth of time on {len(cpu.allowed)} cores")
        except Unknown as error:
            yield Binder("CPU quota", "unclear", str(error))

    def _conf(self) -> Iterator[Binder]:
        affinity = self._affinity
        if not affinity.text:
            return
        name = f"{CONF}={affinity.text!r}"
        if affinity.framework.value == "mindspore":
            yield Binder(name, "dead", f"MindSpore never reads it; {self.living()}")
            return
        try:
            mode = affinity.mode
        except Unknown as error:
            yield Binder(name, "unclear", str(error))
            return
        acts = mode in ("coarse", "fine")
        yield Binder(name, "acts" if acts else "void", f"{mode} binding" if acts else affinity.effects[0].why)

    def _mindspore(self) -> Iterator[Binder]:
        cores = self.msrun_cores()
        if cores is not None:
            inside = set(self._cpu.allowed) <= set(cores)
            found = "is the mask" if inside else f"but the mask is {cpulist.show(self._cpu.allowed)}"
            yield Binder("msrun --bind_core", "acts" if inside else "void", f"cores {cpulist.show(cores)}, {found}")
        if self._affinity.framework.value == "mindspore" and not self.mindspore_binds():
            yield Binder("set_cpu_affinity", "void", f"would find no {V1_CPUSET}; the same for msrun --bind_core")

    def _openmp(self) -> Iterator[Binder]:
        for pin in openmp.pins(self._host.environ):
            yield Binder(f"{pin.variable}={pin.value}", "acts", pin.effect)

    def _mindformers(self) -> Iterator[Binder]:
        value = self._host.environ.get("CPU_AFFINITY", "")
        if value.lower() in ("1", "true"):
            yield Binder(
                f"CPU_AFFINITY={value}", "unclear", "read by mindformers alone, which then binds each rank itself"
            )
