"""Follow a path: its real name, its mount's id, its stamps, the room on its file system."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(path: str) -> dict[str, Any]:
    """What the kernel says of ``path``, or of its nearest existing parent with the missing part named."""
    missing = ""
    while True:
        try:
            return {"missing": missing, **look(path)}
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(path):
                path = os.path.realpath(path)
            missing = missing or path
            path = os.path.dirname(path)
        except OSError as error:
            return {"error": error.strerror or str(error), "at": path}


def look(path: str) -> dict[str, Any]:
    """For a directory, "." behind it mounts what an automounter holds ready, which stat of the bare name does not.

    The mount id of an open O_PATH descriptor names the mount exactly, also where several cover one another.
    """
    seen = os.stat(path)
    if os.path.isdir(path):
        seen = os.stat(path + "/.")
    real = os.path.realpath(path)
    return {
        "real": real,
        "mount_id": mount_id(real),
        "mode": seen.st_mode,
        "device": f"{os.major(seen.st_dev)}:{os.minor(seen.st_dev)}",
        "stamps": [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size],
        "space": space(real),
    }


def mount_id(path: str) -> int | None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            ids = [line.split()[1] for line in file if line.startswith("mnt_id:")]
    except OSError:
        return None
    finally:
        os.close(fd)
    return int(ids[0]) if ids else None


def space(path: str) -> dict[str, int]:
    """Bytes and inodes, in all and left for this user."""
    seen = os.statvfs(path)
    return {
        "size": seen.f_blocks * seen.f_frsize,
        "free": seen.f_bavail * seen.f_frsize,
        "inodes": seen.f_files,
        "inodes_free": seen.f_favail,
        "writable": os.access(path, os.W_OK),
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1])["path"])))
