"""worker_cores: the binding leaves cores for the workers of each rank."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pytest_ascendenv.affinity.binding import DeviceBinding
from pytest_ascendenv.affinity.effect import CONF
from pytest_ascendenv.checks.pinned import hot_cores
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Finding, Verdict


class Pool(NamedTuple):
    """``forked``: started by the main thread itself (multiprocessing, subprocess), not by a torch DataLoader."""

    workers: int
    forked: bool


class WorkerCores:
    """The workers of each rank must find the cores that the binding leaves them.

    DataLoader workers get the cores of "others"; a pool that the main thread forks inherits its one core under fine
    binding. More workers than cores is a note, more than twice as many fails: half the throughput at best.
    """

    name = "worker_cores"
    when: Literal["before"] = "before"

    def parse(self, workers: Any, forked: Any = False) -> Pool:
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"found {workers!r}, allowed: a number of workers of one rank, 1 or more")
        if not isinstance(forked, bool):
            raise ValueError(f"forked: found {forked!r}, allowed: true or false")
        return Pool(workers, forked)

    def judge(self, wanted: Pool, env: AscendEnv) -> Finding:
        cores, pinned = _left(env, wanted.forked)
        refused = [number for one in _binding(env) for number, device in one if device.others == ()]
        if refused:
            return self._refused(wanted, env, refused)
        crowded = pinned or wanted.workers > 2 * cores
        kind = "forked by the main thread" if wanted.forked else "of a DataLoader"
        notes = (f"{wanted.workers} workers share {cores} cores",) if not crowded and wanted.workers > cores else ()
        return Finding(
            self.name,
            Verdict.FAIL if crowded else Verdict.PASS,
            f"cores for {wanted.workers} workers {kind}",
            f"{cores} core{'s' * (cores > 1)} a rank",
            "this host",
            (env.affinity.conf, env.affinity.devices, *env.cpu.facts()),
            _why(pinned) if crowded else "",
            _way_out(wanted, pinned, cores) if crowded else "",
            "Ascend/pytorch: torch_npu.utils.set_thread_affinity" if crowded else "",
            notes,
        )

    def _refused(self, wanted: Pool, env: AscendEnv, refused: list[int]) -> Finding:
        names = ", ".join(f"npu{number}" for number in dict.fromkeys(refused))
        return Finding(
            self.name,
            Verdict.FAIL,
            f"cores for {wanted.workers} workers",
            f"no cores for the workers of {names}",
            "this host",
            (env.affinity.conf, env.affinity.devices, *env.cpu.facts()),
            "the kernel refuses their empty range, so these workers keep the old mask: all ranks' cores",
            f"correct the range of {names} in CPU_AFFINITY_CONF",
            "Ascend/pytorch: torch_npu/csrc/core/npu/NPUAffinityController.cpp",
        )


def _binding(env: AscendEnv) -> list[list[tuple[int, DeviceBinding]]]:
    """Rank and device of every binding that acts."""
    return [list(enumerate(one.binding.devices)) for one in env.affinity.effects if one.binding.binds]


def _left(env: AscendEnv, forked: bool) -> tuple[int, bool]:
    """(cores for the workers of the worst rank, whether that is the main thread's pinned core)."""
    ranks = max(1, len(env.npus.visible))
    if hot_cores(env) or any(one.outcome == "coarse" and one.devices_known for one in env.affinity.effects):
        devices = [device for one in env.affinity.effects for device in one.binding.devices if one.binding.binds]
        lists = [device.main if forked else device.others for device in devices]
        cores = min((len(one) for one in lists if one), default=0)
        pinned = forked and any(device.hot and device.main != device.others for device in devices)
        if cores:
            return min(cores, env.cpu.usable), pinned
    return max(1, env.cpu.usable // ranks), False


def _why(pinned: bool) -> str:
    if pinned:
        return "fine binding pins the main thread to one core, which all that it forks after its first step inherits"
    return "more than two workers for each core"


def _way_out(wanted: Pool, pinned: bool, cores: int) -> str:
    if pinned:
        return f"export {CONF}=1, or fork between torch_npu.utils.set_thread_affinity() and reset_thread_affinity()"
    return f"start {cores} workers a rank"
