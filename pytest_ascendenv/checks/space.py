"""disk_space: there must be room, in bytes and in inodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks import paths, quantities
from pytest_ascendenv.checks.quantities import show_bytes
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.paths import Space
    from pytest_ascendenv.probes.storage import Storage

REFERENCE = "ModelArts inspection (ma_help_030): disk used more than 80 %; alarm above 90 %"
NOTED = 0.8  # of a file system in use: where the vendor's inspection warns


@dataclass(frozen=True)
class Wanted:
    """Bytes and inodes that must be free; 0 asks only that something is."""

    paths: tuple[str, ...]
    free: int
    inodes: int


class DiskSpace:
    """The file systems of the data, or of the named paths, have ``free`` bytes and ``inodes`` left for this user.

    Without a number only a full one fails; more than 80 % in use is noted.
    """

    name = "disk_space"
    when: Literal["before", "after"] = "before"

    def parse(self, *names: Any, path: Any = (), free: Any = None, inodes: Any = 0) -> Wanted:
        if isinstance(inodes, bool) or not isinstance(inodes, int) or inodes < 0:
            raise ValueError(f"{self.name}: inodes must be a whole number, not {inodes!r}")
        least = 0 if free is None else quantities.size(free, f"{self.name}: free")
        return Wanted(paths.parse(self.name, names, path), least, inodes)

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        seen, unseen = paths.look(paths.declared(wanted.paths, env), env)
        spaces = [(storage, _space(storage)) for storage in seen]
        faults = [fault for storage, _ in spaces if (fault := fault_of(storage, wanted.free, wanted.inodes))]
        if unseen and not faults:
            raise Unknown("; ".join(unseen))
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if faults else Verdict.PASS,
            expected=_expected(wanted),
            found="; ".join(faults or [f"{storage.mount_point}: {_room(space)}" for storage, space in spaces]),
            evidence=tuple(
                Fact(f"room at {storage.mount_point}", _room(space), "statvfs") for storage, space in spaces
            ),
            fix="free some space or inodes (df -h, df -i), or use another disk" if faults else "",
            reference=REFERENCE,
            notes=(*unseen, *(note for storage, space in spaces if (note := _note(storage, space)))),
        )


def fault_of(storage: Storage, free: int = 0, inodes: int = 0) -> str:
    """What is wrong with the room on the file system of ``storage``, or ""; nothing where it is not known."""
    space = storage.located.space
    if space is None:
        return ""
    if space.free < max(free, 1):
        return f"{storage.mount_point} has {show_bytes(space.free)} free of {show_bytes(space.size)}"
    if space.inodes and space.inodes_free < max(inodes, 1):
        return f"{storage.mount_point} has {space.inodes_free} inodes free of {space.inodes}"
    return ""


def _space(storage: Storage) -> Space:
    if storage.located.space is None:
        raise Unknown(f"the room at {storage.path} is not known on a captured host")
    return storage.located.space


def _expected(wanted: Wanted) -> str:
    asked = [show_bytes(wanted.free)] if wanted.free else []
    asked += [f"{wanted.inodes} inodes"] if wanted.inodes else []
    return f"{' and '.join(asked) or 'some room'} free for this user"


def _room(space: Space) -> str:
    inodes = f", {space.inodes_free} inodes free" if space.inodes else ""
    return f"{show_bytes(space.free)} free of {show_bytes(space.size)}{inodes}"


def _note(storage: Storage, space: Space) -> str:
    return f"{storage.mount_point} is {space.used:.0%} full" if space.used > NOTED else ""
