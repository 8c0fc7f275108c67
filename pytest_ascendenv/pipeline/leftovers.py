"""What killed processes leave behind: System V shared memory, message queues, semaphores, and files in /dev/shm.

MindSpore's worker processes use one shared memory segment and one queue each; killed with SIGKILL nobody removes them.
Only what came into being since ``inventory()`` and belongs to the killed processes is removed.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")
_REMOVE = 0  # IPC_RMID


@dataclass(frozen=True)
class Inventory:
    """The identifiers of each System V kind and the names in /dev/shm at one moment."""

    ids: dict[str, frozenset[int]]
    files: frozenset[str]


def inventory() -> Inventory:
    return Inventory(
        {kind: frozenset(row[IDENTIFIER[kind]] for row in rows(kind)) for kind in IDENTIFIER},
        frozenset(os.listdir(SHM)) if SHM.is_dir() else frozenset(),
    )


IDENTIFIER = {"shm": "shmid", "msg": "msqid", "sem": "semid"}
USERS = {"shm": ("cpid", "lpid"), "msg": ("lspid", "lrpid"), "sem": ()}


def rows(kind: str) -> list[dict[str, int]]:
    """The table of one kind ("shm", "msg", "sem"), a mapping from column to number each."""
    try:
        head, *lines = (PROC / "sysvipc" / kind).read_text().splitlines()
    except (OSError, ValueError):
        return []
    return [dict(zip(head.split(), map(int, line.split()), strict=True)) for line in lines]


def mapped(pids: Iterable[int]) -> set[str]:
    """The files of /dev/shm that these processes hold mapped."""
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            text = (PROC / str(pid) / "maps").read_text(errors="replace")
            found |= {line.split(f"{SHM}/", 1)[1] for line in text.splitlines() if f" {SHM}/" in line}
    return found


def remove(before: Inventory, pids: Iterable[int], files: Iterable[str]) -> None:
    """Remove what the processes ``pids`` (now dead) made since ``before``, and ``files``, which they had mapped."""
    owners, keys = set(pids), set()
    for kind in ("shm", "msg", "sem"):
        for row in rows(kind):
            if row[IDENTIFIER[kind]] in before.ids[kind]:
                continue
            # A queue names only its last users, but MindSpore gives it the key of its shared memory.
            if owners & {row[name] for name in USERS[kind]} or (row["key"] and row["key"] in keys):
                keys.add(row["key"])
                _remove(kind, row[IDENTIFIER[kind]])
    for name in set(files) - before.files:
        with suppress(OSError):
            (SHM / name).unlink()


def _remove(kind: str, identifier: int) -> None:
    libc = ctypes.CDLL(None)
    if kind == "sem":
        libc.semctl(identifier, 0, _REMOVE)
    else:
        getattr(libc, f"{kind}ctl")(identifier, _REMOVE, None)
