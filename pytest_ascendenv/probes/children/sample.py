"""Look through a folder of data: how many files, how large, and how fast some of them open and read.

Bounded in entries and seconds, upper folders first; symbolic links to folders are not followed.
"""

from __future__ import annotations

import collections
import contextlib
import json
import mmap
import os
import random
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

READ = 16 * 1024 * 1024  # of one file at most
CHUNK = 1024 * 1024


def main(order: dict[str, Any]) -> dict[str, Any]:
    """Scan ``path`` for at most ``entries`` files and ``seconds``; then read a random ``count`` of them if it is given.

    Answers with the number of files seen, whether that is all, sizes of a random sample, the largest files, and times.
    """
    try:
        return scan_and_read(order)
    except OSError as error:
        return {"error": error.strerror or str(error), "at": error.filename or order["path"]}


def scan_and_read(order: dict[str, Any]) -> dict[str, Any]:
    until = time.perf_counter() + order["seconds"] / 2
    names: list[str] = []
    whole = True
    for name in files_of(order["path"]):
        if len(names) >= order["entries"] or time.perf_counter() > until:
            whole = False
            break
        names.append(name)
    chosen = random.sample(names, min(len(names), order["sizes"]))
    sizes = dict(sized(chosen, time.perf_counter() + order["seconds"] / 2))
    largest = sorted(sizes.items(), key=lambda item: -item[1])[: order["largest"]]
    return {
        "files": len(names),
        "whole": whole,
        "sizes": sorted(sizes.values()),
        "largest": largest,
        **read_some(names, order),
    }


def files_of(path: str) -> Iterator[str]:
    """Regular files at and below ``path``; a folder that may not be listed is passed over, unless it is the first."""
    if not stat.S_ISDIR(os.stat(path).st_mode):
        yield path
        return
    folders = collections.deque([path])
    while folders:
        folder = folders.popleft()
        try:
            entries = os.scandir(folder)
        except OSError:
            if folder == path:
                raise
            continue
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file():
                    yield entry.path


def sized(names: list[str], until: float) -> Iterator[tuple[str, int]]:
    for name in names:
        if time.perf_counter() > until:
            return
        with contextlib.suppress(OSError):
            yield name, os.stat(name).st_size


def read_some(names: list[str], order: dict[str, Any]) -> dict[str, Any]:
    """Times of open+read+close in seconds, those of files that lay in the page cache apart."""
    cold: list[float] = []
    warm: list[float] = []
    size = 0
    unread = 0
    until = time.perf_counter() + order["read_seconds"]
    buffer = bytearray(CHUNK)
    for name in random.sample(names, min(len(names), 2 * order["count"])):
        if len(cold) >= order["count"] or time.perf_counter() > until:
            break
        try:
            seconds, done, cached = read_one(name, buffer)
        except OSError:
            unread += 1
            continue
        (warm if cached else cold).append(seconds)
        size += done
    return {"cold": cold, "warm": warm, "read": size, "unread": unread}


def read_one(name: str, buffer: bytearray) -> tuple[float, int, bool]:
    """Seconds, bytes, and whether its first bytes were in memory already (to find that out is not timed)."""
    begin = time.perf_counter()
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        opened = time.perf_counter()
        cached = in_memory(fd, buffer)
        asked = time.perf_counter()
        done = 0
        while done < READ and (got := os.readv(fd, [buffer])):
            done += got
    finally:
        os.close(fd)
    return (opened - begin) + (time.perf_counter() - asked), done, cached


def in_memory(fd: int, buffer: bytearray) -> bool:
    """Whether a read would not touch the storage; what cannot be found out counts as yes."""
    try:
        with memoryview(buffer) as view:
            return os.preadv(fd, [view[:512]], 0, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
    except OSError:  # network file systems and FUSE do not know that flag
        return resident(fd)


def resident(fd: int) -> bool:
    """mincore(2) on the first page. Of a file that this user could not write, the kernel says yes in any case."""
    try:
        import ctypes

        if os.fstat(fd).st_size == 0:
            return False
        with contextlib.closing(mmap.mmap(fd, 1, access=mmap.ACCESS_COPY)) as page:
            state = ctypes.c_ubyte(1)
            start = ctypes.c_char.from_buffer(page)
            failed = ctypes.CDLL(None, use_errno=True).mincore(
                ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(1), ctypes.byref(state)
            )
            del start
            return bool(failed or state.value & 1)
    except (ImportError, OSError, ValueError):
        return True


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
