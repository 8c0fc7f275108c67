"""Write or read big blocks past the page cache, as ``dd oflag=direct`` does, and time it.

The file that is written has no name (O_TMPFILE), or loses it at once: nothing is left, however this process ends.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import mmap
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

BLOCK = 1024 * 1024
PARENT = os.getppid()  # as it was at the start: a child whose parent was killed ends with its next block
NO_DIRECT = (errno.EINVAL, errno.EOPNOTSUPP)
NO_TMPFILE = (*NO_DIRECT, errno.EISDIR, errno.ENOENT)


def main(order: dict[str, Any]) -> dict[str, Any]:
    """``runs`` timed runs of at most ``bytes`` and ``seconds`` each -> rates in bytes/s, bytes, method; or an errno."""
    work = write if order["mode"] == "write" else read
    try:
        try:
            return work(order, os.O_DIRECT)
        except OSError as error:
            if error.errno not in NO_DIRECT:
                raise
        return work(order, 0)
    except OSError as error:
        return {"errno": errno.errorcode.get(error.errno or 0, ""), "error": error.strerror or str(error)}


def write(order: dict[str, Any], direct: int) -> dict[str, Any]:
    """One block of random bytes again and again, as fio does: a storage that compresses does not flatter itself.

    A larger buffer would fall out of the processor's cache, which a virtual disk pays for (10 % here).
    """
    with contextlib.closing(mmap.mmap(-1, BLOCK)) as buffer:
        buffer[:] = os.urandom(BLOCK)
        return answer([write_once(order, direct, buffer) for _ in range(order["runs"])], direct)


def write_once(order: dict[str, Any], direct: int, buffer: mmap.mmap) -> tuple[int, float]:
    fd = create(order["path"], direct)
    try:
        return timed(writer(fd, buffer), order, 0 if direct else fd)
    finally:
        os.close(fd)


def create(folder: str, direct: int) -> int:
    """A new file in ``folder`` that nobody can find."""
    flags = os.O_RDWR | os.O_CLOEXEC | direct
    try:
        return os.open(folder, flags | os.O_TMPFILE, 0o600)
    except OSError as error:
        if error.errno not in NO_TMPFILE:
            raise
    name = os.path.join(folder, f".ascend-env-{secrets.token_hex(8)}")
    try:
        return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600)
    finally:  # also after a refusal: some file systems make the name before they refuse the flag
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def writer(fd: int, buffer: mmap.mmap) -> Iterator[int]:
    """Write block after block; yields the bytes of each."""
    for start in itertools.count(0, BLOCK):
        done = os.pwrite(fd, buffer, start)
        if done != BLOCK:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield done


def read(order: dict[str, Any], direct: int) -> dict[str, Any]:
    """Read the given files round and round, each run going on where the last ended."""
    with contextlib.closing(mmap.mmap(-1, BLOCK)) as buffer:
        blocks = itertools.chain.from_iterable(reader(name, buffer, direct) for name in itertools.cycle(order["files"]))
        return answer([timed(blocks, order) for _ in range(order["runs"])], direct)


def reader(name: str, buffer: mmap.mmap, direct: int) -> Iterator[int]:
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | direct)
    try:
        for start in itertools.count(0, BLOCK):
            done = os.preadv(fd, [buffer], start)
            if done:
                yield done
            if done < BLOCK:
                return
    finally:
        os.close(fd)


def timed(blocks: Iterator[int], order: dict[str, Any], sync: int = 0) -> tuple[int, float]:
    """Bytes and seconds of one run. The first block, which opens and allocates, is apart; an orphan gives up."""
    next(blocks)
    total = 0
    begin = time.perf_counter()
    while total < order["bytes"] and time.perf_counter() - begin < order["seconds"] and os.getppid() == PARENT:
        total += next(blocks)
    if sync:
        os.fdatasync(sync)
    return total, time.perf_counter() - begin


def answer(runs: Sequence[tuple[int, float]], direct: int) -> dict[str, Any]:
    return {
        "rates": [size / seconds for size, seconds in runs],
        "bytes": [size for size, _ in runs],
        "method": "direct" if direct else "buffered",
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
