"""The mount table: ``/proc/self/mountinfo``, and the mount that a path lives on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

MOUNTINFO = "/proc/self/mountinfo"


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo; the names are those of proc_pid_mountinfo(5).

    ``device`` is "major:minor", ``root`` the subtree of the file system that is seen here ("/" unless it is a bind
    mount), ``line`` the 1-based line.
    """

    id: int
    device: str
    root: str
    mount_point: str
    options: tuple[str, ...]
    filesystem: str
    source: str
    super_options: tuple[str, ...] = field(repr=False)  # may hold secrets
    line: int

    @property
    def anonymous(self) -> bool:
        """No block device stands behind the device number (major 0)."""
        return self.device.startswith("0:")

    @property
    def read_only(self) -> bool:
        return "ro" in self.options or "ro" in self.super_options

    @property
    def where(self) -> str:
        return f"{MOUNTINFO}:{self.line}"

    def option(self, name: str) -> str | None:
        """The value of ``name=value`` among the super block's options."""
        for option in self.super_options:
            key, _, value = option.partition("=")
            if key == name:
                return value
        return None

    def options_named(self, name: str) -> tuple[str, ...]:
        """The values of an option that may be repeated, such as overlay's ``lowerdir+``."""
        pairs = (option.partition("=") for option in self.super_options)
        return tuple(value for key, _, value in pairs if key == name)

    def __str__(self) -> str:
        subtree = "" if self.root == "/" else f", subtree {self.root}"
        return f"{self.mount_point} ({self.filesystem} from {self.source}{subtree})"


def read(host: Host) -> tuple[Mount, ...]:
    """Every mount of this mount namespace, in mount order; raises Unknown where the table cannot be read."""
    lines = enumerate(host.read(MOUNTINFO).splitlines(), 1)
    mounts = tuple(mount for number, line in lines if (mount := parse(line, number)))
    if not mounts:
        raise Unknown(f"{MOUNTINFO}: no mount is listed")
    return mounts


def parse(line: str, number: int = 0) -> Mount | None:
    """One line; None where it has not the fields of a mount."""
    left, dash, right = line.partition(" - ")
    fields, tail = left.split(" "), right.split(" ")
    if not dash or len(fields) < 6 or len(tail) < 2 or not fields[0].isdigit():
        return None
    return Mount(
        id=int(fields[0]),
        device=fields[2],
        root=_decode(fields[3]),
        mount_point=_decode(fields[4]),
        options=tuple(fields[5].split(",")),
        filesystem=tail[0],
        source=_decode(tail[1]),
        super_options=tuple(_decode(option) for option in _options(" ".join(tail[2:]))),
        line=number,
    )


def by_id(mounts: Iterable[Mount], mount_id: int) -> Mount | None:
    return next((mount for mount in mounts if mount.id == mount_id), None)


def by_path(mounts: Sequence[Mount], path: str) -> Mount:
    """The mount with the longest mount point above ``path``; of equal ones the last covers the others.

    Raises Unknown where none holds it, as in a chroot whose root is not a mount point.
    """
    holding = [mount for mount in mounts if _holds(mount.mount_point, path)]
    if not holding:
        raise Unknown(f"{MOUNTINFO}: no mount holds {path}")
    longest = max(len(mount.mount_point) for mount in holding)
    return [mount for mount in holding if len(mount.mount_point) == longest][-1]


def _holds(mount_point: str, path: str) -> bool:
    return mount_point == "/" or path == mount_point or path.startswith(mount_point + "/")


def _options(text: str) -> list[str]:
    """Options are separated by commas; overlay escapes a comma inside a value with a backslash."""
    return re.split(r"(?<!\\),", text) if text else []


def _decode(text: str) -> str:
    r"""Undo the kernel's octal escapes (\040 for a blank); bytes beyond ASCII are kept as the file system has them."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
