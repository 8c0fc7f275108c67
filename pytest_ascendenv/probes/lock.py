"""One measurement at a time on this host: eight ranks that measure together measure one another.

The lock is a name of Linux's abstract socket namespace: whoever has bound it measures, the others are connected to it
and wake up when it closes. Unlike a lock file it needs no directory, holds across users, leaves nothing behind, and is
free at once when its holder was killed. Containers with a network of their own have a lock of their own.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pytest_ascendenv.verdict import Unknown

NAME = "\0pytest-ascendenv.measuring"
PATIENCE = 600.0  # seconds; then it is measured all the same, and the result says that it was not alone
_RETRY = 0.05  # seconds

_held: list[socket.socket] = []


@contextmanager
def alone(patience: float = PATIENCE, name: str | None = None) -> Iterator[bool]:
    """Hold the host's lock; gives False where it could not be had within ``patience`` seconds.

    Where the platform knows no abstract names there is no lock, and it gives True.
    """
    if not _supported():
        yield True
        return
    name = name or NAME
    limit = time.monotonic() + patience
    holder = _bind(name)
    while holder is None and time.monotonic() < limit:
        _until_closed(name, limit - time.monotonic())
        holder = _bind(name)
    if holder is None:
        yield False
        return
    _held.append(holder)
    try:
        yield True
    finally:
        _held.remove(holder)
        holder.close()


@contextmanager
def measuring(what: str, seconds: float = 60.0) -> Iterator[None]:
    """Hold the host's lock; raises Unknown where another measurement holds it for longer than ``seconds``."""
    with alone(seconds) as free:
        if not free:
            raise Unknown(f"{what}: another measurement has been running on this host for {seconds:g} s")
        yield


def forget() -> None:
    """To be called in a forked child: the lock must not live on in a worker that outlives its parent."""
    for holder in _held:
        with suppress(OSError):
            os.close(holder.detach())
    _held.clear()


def _supported() -> bool:
    return hasattr(socket, "AF_UNIX") and os.path.exists("/proc/net/unix")


def _bind(name: str) -> socket.socket | None:
    """The bound socket; None where another process has it."""
    candidate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        candidate.bind(name)
        candidate.listen(128)
    except OSError:
        candidate.close()
        return None
    return candidate


def _until_closed(name: str, seconds: float) -> None:
    """Wait until the holder closes: nothing is ever sent, so the connection ends with it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.settimeout(max(_RETRY, seconds))
        try:
            waiting.connect(name)
            waiting.recv(1)
        except OSError:  # it has just gone, or more wait than fit the queue
            time.sleep(_RETRY)
