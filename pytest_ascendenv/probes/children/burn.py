"""Keep one busy thread on each of some cores for a moment, several times, and tell how long each had to wait."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from typing import Any

BLOCK = bytes(1 << 20)  # sha256 of a block this large releases the interpreter's lock, so threads do not wait for it


def main(order: dict[str, Any]) -> dict[str, Any]:
    """``rounds`` of core -> [ran, waited] in ns; a core that the kernel refuses is missing.

    The order: ``cores``, and in seconds ``window`` and the ``pause`` between ``rounds``.
    """
    rounds = []
    for number in range(order["rounds"]):
        if number:
            time.sleep(order["pause"])
        rounds.append(one_round(order["cores"], order["window"]))
    return {"rounds": rounds}


def one_round(cores: list[int], window: float) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    start = threading.Barrier(len(cores))
    threads = [threading.Thread(target=burn, args=(core, window, start, found)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def burn(core: int, window: float, start: threading.Barrier, found: dict[int, list[int]]) -> None:
    try:
        os.sched_setaffinity(0, {core})  # this thread alone
        pinned = True
    except OSError:
        pinned = False
    start.wait()
    if not pinned:
        return
    before, end = schedstat(), time.monotonic() + window
    while time.monotonic() < end:
        hashlib.sha256(BLOCK).digest()
    after = schedstat()
    found[core] = [after[0] - before[0], after[1] - before[1]]


def schedstat() -> list[int]:
    """Nanoseconds that this thread ran, and that it waited for a core."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return [int(word) for word in file.read().split()[:2]]


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
