"""What the kernel says of a path: asked in a child with a limit, since a dead mount blocks these calls for ever."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from pytest_ascendenv.probes import limited
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

SECONDS = 5.0
"""How long a stat may take: an automounter needs a second or two, a network file system that answers needs less."""

# For a directory, "." behind it mounts what an automounter holds ready, which stat of the bare name does not.
# The mount id of an open O_PATH descriptor names the mount exactly, also where several cover one another.
_CODE = """
import json, os, sys
def look(path):
    seen = os.stat(path)
    if os.path.isdir(path):
        seen = os.stat(path + "/.")
    real = os.path.realpath(path)
    fd = os.open(real, os.O_PATH | os.O_CLOEXEC)
    lines = open("/proc/self/fdinfo/%d" % fd).read().splitlines()
    ids = [line.split()[1] for line in lines if line.startswith("mnt_id:")]
    return dict(real=real, mount_id=int(ids[0]) if ids else None, mode=seen.st_mode, size=seen.st_size,
                device="%d:%d" % (os.major(seen.st_dev), os.minor(seen.st_dev)),
                stamps=[seen.st_mtime_ns, seen.st_ctime_ns])
path = sys.argv[1]
answer = {"missing": None}
while True:
    try:
        answer.update(look(path))
        break
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            path = os.path.realpath(path)
        answer["missing"] = answer["missing"] or path
        path = os.path.dirname(path)
    except OSError as error:
        answer["error"] = error.strerror or str(error)
        answer["at"] = path
        break
print(json.dumps(answer))
"""


@dataclass(frozen=True)
class Located:
    """Where a path leads once its links are followed.

    Where it does not exist, ``missing`` is the path (or the end of the dangling link), and the other fields speak of
    its nearest existing parent. ``stamps`` are mtime and ctime in ns, ``mount_id`` the id in mountinfo; both are
    None on a captured host.
    """

    path: str
    real: str
    missing: str = ""
    mount_id: int | None = None
    device: str = ""
    stamps: tuple[int, ...] | None = None
    mode: int = 0
    size: int = 0

    def same_object(self, other: Located) -> bool:
        """Both show one directory or file, though through different file systems: every stamp agrees."""
        return self.stamps is not None and self.stamps == other.stamps and self.mode >> 12 == other.mode >> 12


class Unreachable(Unknown):
    """The path is there but this process may not or cannot look at it."""


def absolute(host: Host, path: str) -> str:
    """``~`` and the working directory filled in; nothing is looked up, ``..`` is left to the kernel."""
    home = host.environ.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.join(os.getcwd(), path)


def locate(host: Host, path: str, seconds: float = SECONDS) -> Located:
    """Follow the links of ``path`` and ask for its device and mount.

    Raises Unknown with "stat of PATH did not return in N s" for a dead mount, and with the system's words where the
    path may not be looked at. On a captured host nothing can be asked: the path is taken as it is written.
    """
    full = absolute(host, path)
    if not host.real:
        return Located(path, os.path.normpath(full))
    what = f"stat of {path}"
    answer = json.loads(limited.python(_CODE, [full], seconds, what))
    if "error" in answer:
        raise Unreachable(f"stat of {answer['at']}: {answer['error']}")
    return Located(
        path=path,
        real=answer["real"],
        missing=answer["missing"] or "",
        mount_id=answer["mount_id"],
        device=answer["device"],
        stamps=tuple(answer["stamps"]),
        mode=answer["mode"],
        size=answer["size"],
    )
