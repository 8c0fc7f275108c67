"""How fast the disk below a path takes and gives big blocks.

Direct I/O in blocks of 1 MiB, one at a time, random data, the first block apart: what ``dd oflag=direct`` and fio
(``--direct=1 --bs=1M --iodepth=1 --fallocate=none``) measure; benchmarks/storage.py compares the three.
"""

from __future__ import annotations

import os
import stat
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ascendenv.probes import files, sysfs
from pytest_ascendenv.probes.children import ask
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.lock import measuring
from pytest_ascendenv.probes.storage import Storage
from pytest_ascendenv.verdict import Unknown

Mode = Literal["write", "read"]
MIB = 1024 * 1024
SIZE = 256 * MIB
LARGEST = 1024 * MIB
RUNS = 3
SECONDS = 2.0  # of one run
SLACK = 20.0  # beyond the runs themselves, before the storage counts as one that does not answer
RESERVE = 2048 * MIB  # always left free, and four times what is written
INODES = 100
SECTOR = 512  # the unit of /sys/block/*/stat, whatever the disk's own sector is
READABLE = 2 * MIB  # a file's least size for the read test: one block apart and one to time
SEEN = 0.8  # the part that the disks must have counted: the rest of a run may still be queued or merged


@dataclass(frozen=True)
class Bandwidth:
    """Rates of several runs in bytes/s. ``method`` is "direct" or "buffered".

    ``moved`` are the bytes of all runs, ``counted`` the bytes that the disks below say they moved meanwhile (None where
    they are not known): direct I/O of FUSE, of btrfs with checksums or of a loop device may end in a page cache, and
    ``hidden`` says that the file system is such a one.
    """

    mode: Mode
    rates: tuple[float, ...]
    method: str
    moved: int
    counted: int | None
    source: str
    hidden: bool = False

    @property
    def best(self) -> float:
        return max(self.rates)

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    @property
    def doubt(self) -> str:
        """Why these rates are not those of the disk, or ""."""
        if self.method != "direct":
            return "the file system has no direct I/O, so the page cache is in the figure"
        if self.counted is not None and self.counted < SEEN * self.moved:
            moved, counted = self.moved // MIB, self.counted // MIB
            return f"the disks counted {counted} MiB of {moved} MiB: a page cache below (or a hole) made up the rest"
        if self.counted is None and self.hidden:
            return "its direct I/O may end in a page cache, and the disks' counters are not seen"
        return ""


@dataclass(frozen=True)
class Refused:
    """The system did not let us: ``error`` is EROFS, EACCES, ENOSPC, EDQUOT …, ``text`` its words."""

    error: str
    text: str


def write(host: Host, storage: Storage, size: int = SIZE) -> Bandwidth | Refused:
    """Write up to ``size`` bytes three times into the folder (or beside the file) of ``storage``; nothing is left.

    Raises Unknown where the room would get scarce, the storage does not answer, or the host was captured.
    """
    what = f"write to {storage.path}"
    if storage.missing:
        raise Unknown(f"{what}: {storage.missing} does not exist")
    folder = storage.real if stat.S_ISDIR(storage.located.mode) else os.path.dirname(storage.real)
    if storage.mount.read_only:
        return Refused("EROFS", f"{storage.mount_point} is mounted read-only")
    if refused := _room(storage, size, what):
        return refused
    return _transfer(host, storage, {"mode": "write", "path": folder, "bytes": size}, what)


def read(host: Host, storage: Storage, size: int = SIZE) -> Bandwidth | Refused:
    """Read up to ``size`` bytes three times from the largest files that are there; raises Unknown as ``write`` does,
    and where no file of at least 2 MiB is found."""
    what = f"read of {storage.path}"
    found = files.scan(host, storage.real, largest=64)
    names = [name for name, length in found.largest if length >= READABLE]
    if not names:
        raise Unknown(f"{what}: no file of at least 2 MiB among {found.count} there; small_files measures small ones")
    return _transfer(host, storage, {"mode": "read", "files": names, "bytes": size}, what)


def _room(storage: Storage, size: int, what: str) -> Refused | None:
    space = storage.located.space
    if space is None:
        raise Unknown(f"{what}: a captured host cannot be measured")
    if space.free == 0 or (space.inodes and not space.inodes_free):
        return Refused("ENOSPC", "no inode is free" if space.free else "no space is left")
    need = max(4 * size, RESERVE)
    if space.free < need:
        raise Unknown(f"{what} not measured: {space.free // MIB} MiB are free, and {need // MIB} MiB must be")
    if space.inodes and space.inodes_free < INODES:
        raise Unknown(f"{what} not measured: only {space.inodes_free} inodes are free")
    return None


def _transfer(host: Host, storage: Storage, order: dict[str, Any], what: str) -> Bandwidth | Refused:
    if not host.real:
        raise Unknown(f"{what}: a captured host cannot be measured")
    order = {**order, "runs": RUNS, "seconds": SECONDS}
    names = [disk.name for disk in storage.disks]
    with measuring(what):
        before = _counted(host, names, order["mode"])
        answer = ask("transfer", order, RUNS * SECONDS + SLACK, what)
        after = _counted(host, names, order["mode"])
    if "error" in answer:
        return Refused(answer["errno"], answer["error"])
    counted = None if before is None or after is None else after - before
    source = f"{RUNS} x {order['bytes'] // MIB} MiB or {SECONDS:g} s, blocks of 1 MiB, {answer['method']}"
    rates, moved = tuple(answer["rates"]), sum(answer["bytes"])
    return Bandwidth(order["mode"], rates, answer["method"], moved, counted, source, _may_cache(storage.filesystem))


def _may_cache(filesystem: str) -> bool:
    """Direct I/O is accepted, and yet served from memory, where the file system finds that better."""
    return filesystem.startswith("fuse") or filesystem in ("zfs", "btrfs", "bcachefs", "9p", "virtiofs")


def _counted(host: Host, names: Sequence[str], mode: str) -> int | None:
    """Bytes that these disks have moved since they came up; None where one of them keeps no count."""
    rows = [sysfs.read(host.path(f"/sys/class/block/{name}/stat")).split() for name in names]
    column = 6 if mode == "write" else 2
    if not rows or not all(len(row) > 6 and any(word != "0" for word in row) for row in rows):
        return None
    return sum(int(row[column]) for row in rows) * SECTOR
