"""One measurement at a time on a host: eight ranks that measure together measure one another."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

from pytest_ascendenv.verdict import Unknown

NAME = "\0pytest-ascendenv.measuring"
SECONDS = 60.0


@contextlib.contextmanager
def measuring(what: str, seconds: float = SECONDS) -> Iterator[None]:
    """Hold the host's lock; raises Unknown where another measurement holds it for longer than ``seconds``.

    The lock is a name in the kernel's abstract socket space: there is no file, and it is free when its holder dies.
    Containers with a network of their own have a space of their own.
    """
    with socket.socket(socket.AF_UNIX) as lock:
        until = time.monotonic() + seconds
        while not _taken(lock):
            if time.monotonic() > until:
                raise Unknown(f"{what}: another measurement has been running on this host for {seconds:g} s")
            time.sleep(0.05)
        yield


def _taken(lock: socket.socket) -> bool:
    try:
        lock.bind(NAME)
    except OSError:
        return False
    return True
