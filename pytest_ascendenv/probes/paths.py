"""What the kernel says of a path: asked in a child with a limit, since a dead mount blocks these calls for ever."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pytest_ascendenv.probes.children import ask
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

SECONDS = 5.0
"""How long a stat may take: an automounter needs a second or two, a network file system that answers needs less."""


@dataclass(frozen=True)
class Space:
    """The room on a file system: bytes and inodes, in all and left for this user. ``writable``: by the mode bits."""

    size: int
    free: int
    inodes: int
    inodes_free: int
    writable: bool

    @property
    def used(self) -> float:
        """The part in use, as df counts it."""
        return 1 - self.free / self.size if self.size else 0.0


@dataclass(frozen=True)
class Located:
    """Where a path leads once its links are followed.

    Where it does not exist, ``missing`` is the path (or the end of the dangling link), and the other fields speak of
    its nearest existing parent. ``stamps`` are mtime and ctime in ns and the size, ``mount_id`` the id in mountinfo;
    these and ``space`` are None on a captured host.
    """

    path: str
    real: str
    missing: str = ""
    mount_id: int | None = None
    device: str = ""
    stamps: tuple[int, ...] | None = None
    mode: int = 0
    space: Space | None = None

    def same_object(self, other: Located) -> bool:
        """Both show one directory or file, though through different file systems: every stamp agrees."""
        return self.stamps is not None and self.stamps == other.stamps and self.mode >> 12 == other.mode >> 12


def absolute(host: Host, path: str) -> str:
    """``~`` and the working directory filled in; nothing is looked up, ``..`` is left to the kernel."""
    home = host.environ.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def locate(host: Host, path: str, seconds: float = SECONDS) -> Located:
    """Follow the links of ``path`` and ask for its device and mount.

    Raises Unknown with "stat of PATH did not return in N s" for a dead mount, and with the system's words where the
    path may not be looked at. On a captured host nothing can be asked: the path is taken as it is written.
    """
    full = absolute(host, path)
    if not host.real:
        return Located(path, os.path.normpath(full))
    what = f"stat of {path}"
    answer = ask("look", {"path": full}, seconds, what)
    if "error" in answer:
        raise Unknown(f"stat of {answer['at']}: {answer['error']}")
    return Located(
        path=path,
        real=answer["real"],
        missing=answer["missing"],
        mount_id=answer["mount_id"],
        device=answer["device"],
        stamps=tuple(answer["stamps"]),
        mode=answer["mode"],
        space=Space(**answer["space"]),
    )
