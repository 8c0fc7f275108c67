"""The speed of a disk against what is wanted: a part of local_storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ascendenv.checks.quantities import show_rate
from pytest_ascendenv.verdict import Fact, Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.disk import Bandwidth, Mode, Refused
    from pytest_ascendenv.probes.storage import Storage

WORDS = {
    "EROFS": ("the file system is mounted read-only", "mount it writable, or drop write= for data that is only read"),
    "EACCES": ("this user has no permission there", "give the job's user the permission (chown or chmod)"),
    "EPERM": ("this user has no permission there", "give the job's user the permission (chown or chmod)"),
    "ENOSPC": ("the disk is full", "free some space or inodes (df -h, df -i)"),
    "EDQUOT": ("the user's quota is used up", "free some space or have the quota raised (quota -s)"),
}


@dataclass(frozen=True)
class Speed:
    """One speed against one floor: met unless there is a ``fault``; ``unknown`` is why it could not be told."""

    found: str = ""
    fault: str = ""
    fix: str = ""
    note: str = ""
    unknown: str = ""
    facts: tuple[Fact, ...] = ()


def judge_speed(env: AscendEnv, storage: Storage, mode: Mode, floor: float, size: int) -> Speed:
    """Fails only if the best of the runs is below ``floor`` (bytes/s), warns if the median is: disks are noisy.

    A figure that a page cache has a part in is told, and not compared.
    """
    if storage.in_memory:
        return Speed(unknown=f"{storage.path} is in memory: a disk's {mode} speed does not apply")
    try:
        seen = env.bandwidth(storage, mode, size)
    except Unknown as unknown:
        return Speed(unknown=str(unknown))
    return _judge(storage, mode, floor, seen)


def _judge(storage: Storage, mode: Mode, floor: float, seen: Bandwidth | Refused) -> Speed:
    from pytest_ascendenv.probes.disk import Refused

    if isinstance(seen, Refused):
        return _refused(storage, mode, seen)
    low, high = show_rate(min(seen.rates)), show_rate(seen.best)
    rates = f"{show_rate(seen.median)} (median of {len(seen.rates)}, {low} to {high})"
    facts = (Fact(f"{mode} speed of {storage.path}", rates, seen.source),)
    found = f"{storage.path} {mode}s {rates}"
    if seen.doubt:
        return Speed(unknown=f"{found}, but {seen.doubt}; not compared with {show_rate(floor)}", facts=facts)
    if seen.best < floor:
        return Speed(found, f"the disk below {storage.path} is too slow, or busy", _fix(storage, mode), facts=facts)
    if seen.median < floor:
        return Speed(found, note=f"{found}: the median is below {show_rate(floor)}, only the best is not", facts=facts)
    return Speed(found, facts=facts)


def _refused(storage: Storage, mode: Mode, seen: Refused) -> Speed:
    cause, fix = WORDS.get(seen.error, (seen.text, "see what the system says"))
    verb = "written to" if mode == "write" else "read"
    fact = Fact(f"{mode} test of {storage.path}", seen.error or seen.text, seen.text)
    return Speed(f"{storage.path} cannot be {verb}: {cause} ({seen.text})", cause, fix, facts=(fact,))


def _fix(storage: Storage, mode: Mode) -> str:
    disks = " ".join(f"/dev/{disk.name}" for disk in storage.disks)
    return f"see who else uses the disk while it {mode}s (iostat -x 1 {disks}), or move the data to a faster one"
