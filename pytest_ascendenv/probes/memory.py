"""Memory file systems: /dev/shm, through which MindSpore's worker processes hand over their rows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pytest_ascendenv.probes import mounts
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

SHM = "/dev/shm"
MIB = 1024 * 1024


@dataclass(frozen=True)
class SharedMemory:
    """What stands at /dev/shm; sizes in bytes. ``free`` is None on a captured host, where only the mount tells."""

    filesystem: str
    size: int
    free: int | None
    writable: bool
    source: str


def shared_memory(host: Host) -> SharedMemory:
    """/dev/shm of this host.

    Raises Unknown where it does not exist; where it is no mount of its own, the file system that holds it is described.
    """
    if not host.real:
        mount = mounts.by_path(mounts.read(host), SHM)
        return SharedMemory(mount.filesystem, _mounted_size(mount), None, not mount.read_only, mount.where)
    if not os.path.isdir(SHM):
        raise Unknown(f"{SHM} does not exist")
    mount = mounts.by_path(mounts.read(host), os.path.realpath(SHM))
    seen = os.statvfs(SHM)
    return SharedMemory(
        filesystem=mount.filesystem,
        size=seen.f_blocks * seen.f_frsize,
        free=seen.f_bavail * seen.f_frsize,
        writable=not mount.read_only and os.access(SHM, os.W_OK | os.X_OK),
        source=f"statvfs {SHM}",
    )


def _mounted_size(mount: mounts.Mount) -> int:
    found = re.fullmatch(r"(\d+)([kmg]?)", mount.option("size") or "")
    if not found:
        raise Unknown(f"{mount.where}: no size of {mount.mount_point} in the mount's options")
    return int(found[1]) * {"": 1, "k": 1024, "m": MIB, "g": 1024 * MIB}[found[2]]


def available(host: Host) -> int:
    """Bytes that can be used without swapping (MemAvailable)."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", host.read("/proc/meminfo"), re.MULTILINE)
    if not found:
        raise Unknown("/proc/meminfo: no MemAvailable")
    return int(found[1]) * 1024


def queue_bytes(workers: int, prefetch: int, row: int, devices: int = 1) -> int:
    """Bytes of shared memory that the worker processes of one dataset operation hold; ``row`` is bytes in plus out.

    As MindSpore counts it (2.10, ``_PythonMultiprocessing`` and ``_check_shm_usage`` in
    dataset/engine/datasets_user_defined.py): every worker has a queue that shrinks as workers grow, and two more
    segments; at most 8 devices share a host.
    """
    queue = max(2, min(prefetch, prefetch * 4 // workers))
    return min(devices, 8) * workers * (queue + 2) * row
