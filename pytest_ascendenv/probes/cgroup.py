"""The control groups this process lives in: cgroup v1, v2 and both at once, also seen from inside a container."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

MOUNTS = "/proc/self/mountinfo"
GROUPS = "/proc/self/cgroup"


@dataclass(frozen=True)
class Group:
    """The folders of one controller from this process's group up to the root; ``version`` is 1 or 2."""

    version: int
    folders: tuple[str, ...]


@dataclass(frozen=True)
class _Mount:
    root: str
    point: str


def group(host: Host, controller: str) -> Group:
    """Where ``controller`` ("cpu", "cpuset") is read for this process.

    A v1 hierarchy that has the controller wins over the unified one, as in the kernel. Raises Unknown where this
    process's groups cannot be read.
    """
    for line in host.read(GROUPS).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controller in controllers.split(","):
            return Group(1, _folders(host, _mount(host, controller), path))
    for line in host.read(GROUPS).splitlines():
        if line.startswith("0::"):
            return Group(2, _folders(host, _mount(host, ""), line[3:]))
    raise Unknown(f"{GROUPS} names no group for {controller}")


def first(host: Host, folders: tuple[str, ...], *names: str) -> tuple[str, str]:
    """(file, text) of the first of ``names`` that holds something, from the innermost group outwards; else ("", "")."""
    for folder in folders:
        for name in names:
            text = read(host, f"{folder}/{name}")
            if text:
                return f"{folder}/{name}", text
    return "", ""


def read(host: Host, name: str) -> str:
    """The stripped text of a group's file, "" where the group lacks it (a root group has no limits)."""
    try:
        return host.read(name).strip()
    except Unknown:
        return ""


def _mount(host: Host, controller: str) -> _Mount:
    """Where a v1 controller (or with "" the unified hierarchy) is mounted; else the usual place."""
    for line in read(host, MOUNTS).splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = [*right.split(" ", 2), "", ""][:3]
        fields = left.split(" ")
        wanted = kind == "cgroup2" if not controller else kind == "cgroup" and controller in options.split(",")
        if wanted and len(fields) > 4:
            return _Mount(fields[3], fields[4])
    return _Mount("/", posixpath.join("/sys/fs/cgroup", controller) if controller else "/sys/fs/cgroup")


def _folders(host: Host, mount: _Mount, path: str) -> tuple[str, ...]:
    """The group's folder and its parents up to the mount point.

    Inside a container without a cgroup namespace the path is the host's and the mount shows only the container's part,
    so the mount's root is cut off, and a folder that does not exist stands for the mount point itself.
    """
    relative = PurePosixPath(path or "/")
    relative = relative.relative_to(mount.root) if relative.is_relative_to(mount.root) else PurePosixPath()
    inner = PurePosixPath(mount.point, str(relative).lstrip("/"))
    if not host.path(str(inner)).is_dir():
        inner = PurePosixPath(mount.point)
    folders = [inner]
    while str(folders[-1]) not in (mount.point, "/"):
        folders.append(folders[-1].parent)
    return tuple(str(folder) for folder in folders)
