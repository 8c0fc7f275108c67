"""``AscendEnv``: the facts of one subject, each probed when it is first asked for.

Checks judge what this object gives them; tests use it through the ``ascend_env`` fixture. A fact that cannot be
obtained raises ``Unknown`` with the reason, so that a comparison with it can never be silently false.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.declared import Declared
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ascendenv.affinity.binders import Binders
    from pytest_ascendenv.affinity.effect import Affinity
    from pytest_ascendenv.launch.nouns import LaunchSubject
    from pytest_ascendenv.pipeline import Throughput
    from pytest_ascendenv.probes.caches import Cache
    from pytest_ascendenv.probes.contention import Contention
    from pytest_ascendenv.probes.cpu import Cpu
    from pytest_ascendenv.probes.disk import Bandwidth, Mode, Refused
    from pytest_ascendenv.probes.files import Files
    from pytest_ascendenv.probes.limits import Limit
    from pytest_ascendenv.probes.memory import SharedMemory
    from pytest_ascendenv.probes.npu import Npus
    from pytest_ascendenv.probes.places import Place
    from pytest_ascendenv.probes.processes import NpuJob
    from pytest_ascendenv.probes.storage import Storage
    from pytest_ascendenv.training.capture import Program
    from pytest_ascendenv.training.once import Captured
    from pytest_ascendenv.training.rate import Rate


@dataclass
class AscendEnv:
    """One host, what the user declared, and what was seen of one test (``observed``, ``measured``, and
    ``failures``, why a measurement gave nothing).

    ``subject`` names what ``observed`` speaks of: a test, or the program that was captured. ``measuring`` are options
    of ``pipeline.measure`` with which the one capture of the declared program measures its dataset; with ``advise`` it
    also tries its workers.
    """

    host: Host = field(default_factory=Host)
    declared: Declared = field(default_factory=Declared)
    subject: str = "this process"
    observed: Any = None
    measured: tuple[Any, ...] = ()
    failures: tuple[str, ...] = ()
    measuring: Mapping[str, Any] | None = None
    advise: bool = False

    @property
    def environ(self) -> Mapping[str, str]:
        return self.host.environ

    def version(self, distribution: str) -> Fact:
        """The installed version of a distribution; unset where it is not installed."""
        from pytest_ascendenv.probes.versions import installed

        return installed(distribution)

    @cached_property
    def cpu(self) -> Cpu:
        """The cores: ``usable``, ``online``, ``mask``, ``cpuset``, ``quota``."""
        from pytest_ascendenv.probes.cpu import Cpu

        return Cpu(self.host)

    @cached_property
    def affinity(self) -> Affinity:
        """What CPU_AFFINITY_CONF will do to a job that is started from here: ``binding``, ``mode``, ``effects``."""
        from pytest_ascendenv.affinity.effect import Affinity

        return Affinity(self.host, self.cpu, self.declared)

    @cached_property
    def binders(self) -> Binders:
        """All that binds threads to cores, and which of it acts: ``all()``, ``table()``."""
        from pytest_ascendenv.affinity.binders import Binders

        return Binders(self.host, self.cpu, self.affinity)

    @cached_property
    def npus(self) -> Npus:
        """The NPUs: ``nodes``, ``visible``, ``cards`` with their NUMA node and local cores."""
        from pytest_ascendenv.probes.npu import Npus

        return Npus(self.host)

    @cached_property
    def foreign_npu_jobs(self) -> tuple[NpuJob, ...]:
        """The torch_npu jobs on this host that this process has neither started nor come from."""
        from pytest_ascendenv.probes.processes import foreign_npu_jobs

        return foreign_npu_jobs(self.host)

    def contention(self, cores: Sequence[int]) -> Contention:
        """What a busy thread on each of these cores would get, measured for three seconds."""
        from pytest_ascendenv.probes.contention import measure

        return measure(self.host, cores)

    def storage(self, path: str) -> Storage:
        """Where a path really lives: ``.kind``, ``.chain``, ``.filesystem``, ``.mount_point``."""
        from pytest_ascendenv.probes.storage import resolve

        return resolve(self.host, path, self.declared.treat_as)

    @cached_property
    def local_places(self) -> tuple[Place, ...]:
        """The writable file systems on disks of this host, the best first."""
        from pytest_ascendenv.probes.places import local_places

        return local_places(self.host)

    def bandwidth(self, storage: Storage, mode: Mode, size: int) -> Bandwidth | Refused:
        """Measure ("write" or "read") up to ``size`` bytes three times where ``storage`` is; nothing is left behind."""
        from pytest_ascendenv.probes import disk

        return (disk.write if mode == "write" else disk.read)(self.host, storage, size)

    def files(self, path: str) -> Files:
        """Count and sizes of the files at a path, and the times in which a sample of them opens and reads."""
        from pytest_ascendenv.probes.files import sample

        return sample(self.host, path)

    def caches(self, paths: Sequence[str] = ()) -> tuple[Cache, ...]:
        """The named cache directories; without any those of the settings and of this environment."""
        from pytest_ascendenv.probes.caches import Cache, caches

        if paths:
            return tuple(Cache(path, "declared") for path in paths)
        return caches(self.host, self.declared.cache)

    @cached_property
    def shared_memory(self) -> SharedMemory:
        """/dev/shm: file system, size and free bytes."""
        from pytest_ascendenv.probes.memory import shared_memory

        return shared_memory(self.host)

    @cached_property
    def launch(self) -> LaunchSubject:
        """The declared launch script: ``fact("affinity")``, ``facts(name)``, ``launches``."""
        from pytest_ascendenv.launch.nouns import LaunchSubject

        return LaunchSubject(self.declared)

    @property
    def available_memory(self) -> int:
        """Bytes of memory that can be used without swapping."""
        from pytest_ascendenv.probes.memory import available

        return available(self.host)

    def limit(self, name: str) -> Limit:
        """A resource limit by its row in /proc/self/limits, such as "Max open files"."""
        from pytest_ascendenv.probes.limits import limit

        return limit(self.host, name)

    @cached_property
    def _captured(self) -> Captured:
        from pytest_ascendenv.training.once import Captured

        return Captured(self.declared, self.environ, self.measuring, self.advise)

    @property
    def program(self) -> Program:
        """The declared program, run up to its first training call, once; raises Unknown where it did not get there."""
        return self._captured.program()

    def program_throughput(self, floor: float | None = None, max_variation: float | None = None) -> Throughput:
        """The rate of the declared program's training dataset; ``floor`` (samples/s) ends it as soon as that is clear.

        Raises Unknown where there is none to be had.
        """
        return self._captured.throughput({"floor": floor, "max_variation": max_variation})

    @property
    def program_rate(self) -> Rate | None:
        """What the capture of the declared program has measured so far."""
        return self._captured.rate
