"""shared_memory: /dev/shm must hold the rows that MindSpore's worker processes hand over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks import quantities
from pytest_ascendenv.checks.quantities import show_bytes
from pytest_ascendenv.verdict import Fact, Finding, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.memory import SharedMemory as Shm

REFERENCE = "MindSpore, dataset/engine/datasets_user_defined.py: _check_shm_usage"
SHARE = 0.8  # of what is free: the share that _check_shm_usage allows
ADVISED = 5 * 10**9  # "the recommended shm size is at least 5 GB", the same file, where an Event could not be made
ROW = "6 MiB"  # GeneratorDataset's max_rowsize until MindSpore 2.3; later rows are allocated as large as they are


@dataclass(frozen=True)
class Wanted:
    """Bytes that must be free (``minimum``), or the pool that must fit."""

    minimum: int | None
    workers: int
    prefetch: int
    row: int
    devices: int


class SharedMemory:
    """/dev/shm is a writable tmpfs in which MindSpore's worker processes have room.

    Without arguments the pool is MindSpore's default one: 8 workers, prefetch 16, rows of 6 MiB on one device, which by
    MindSpore's own formula needs 480 MiB in 80 % of what is free. Docker's 64 MiB ends such a pool with a bus error
    (seen with MindSpore 2.10 and two workers).
    """

    name = "shared_memory"
    when: Literal["before", "after"] = "before"

    def parse(
        self, minimum: Any = None, *, workers: Any = 8, prefetch: Any = 16, row: Any = ROW, devices: Any = 1
    ) -> Wanted:
        for name, value in (("workers", workers), ("prefetch", prefetch), ("devices", devices)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{self.name}: {name} must be a whole number of at least 1, not {value!r}")
        least = None if minimum is None else quantities.size(minimum, f"{self.name}: minimum")
        return Wanted(least, workers, prefetch, quantities.size(row, f"{self.name}: row"), devices)

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        shm = env.shared_memory
        need, why = _need(wanted)
        free = shm.size if shm.free is None else shm.free
        fault = _fault(shm, free, need)
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if fault else Verdict.PASS,
            expected=f"a writable tmpfs at /dev/shm with {show_bytes(need)} free ({why})",
            found=f"{shm.filesystem} of {show_bytes(shm.size)}, {show_bytes(free)} free",
            evidence=(
                Fact("size of /dev/shm", show_bytes(shm.size), shm.source),
                Fact("free in /dev/shm", show_bytes(free), shm.source),
            ),
            cause=fault,
            fix=_fix(shm, need) if fault else "",
            reference=REFERENCE,
            notes=_notes(shm, fault),
        )


def _need(wanted: Wanted) -> tuple[int, str]:
    if wanted.minimum is not None:
        return wanted.minimum, "as declared"
    from pytest_ascendenv.probes.memory import queue_bytes

    held = queue_bytes(wanted.workers, wanted.prefetch, wanted.row, wanted.devices)
    pool = f"{wanted.workers} workers, prefetch {wanted.prefetch}, rows of {show_bytes(wanted.row)}"
    per = f", {wanted.devices} devices" if wanted.devices > 1 else ""
    return round(held / SHARE), f"{pool}{per}: {show_bytes(held)} in 80 % of it"


def _fault(shm: Shm, free: int, need: int) -> str:
    if shm.filesystem not in ("tmpfs", "ramfs"):
        return f"/dev/shm is no memory: it is a directory of {shm.filesystem}"
    if not shm.writable:
        return "/dev/shm is not writable for this process"
    if free >= need:
        return ""
    if shm.size >= need:
        return f"{show_bytes(shm.size - free)} of /dev/shm are in use"
    return "/dev/shm is too small" + (": Docker's default size" if shm.size == 64 * 2**20 else "")


def _fix(shm: Shm, need: int) -> str:
    if shm.size >= need and shm.filesystem == "tmpfs" and shm.writable:
        return "see what holds it (ls -l /dev/shm) and remove what dead jobs left; or lower num_parallel_workers"
    size = f"{max(need, ADVISED) / 2**30:.0f}g"
    return (
        f"start the container with --shm-size={size} or --ipc=host (Kubernetes: an emptyDir with medium: Memory at "
        f"/dev/shm); on a host: mount -o remount,size={size} /dev/shm"
    )


def _notes(shm: Shm, fault: str) -> tuple[str, ...]:
    if fault or shm.size >= ADVISED:
        return ()
    return (f"{show_bytes(shm.size)} is below the 5 GB that MindSpore recommends for large pools of worker processes",)
