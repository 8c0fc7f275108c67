"""How long reading a launch script takes, and how much memory: run ``python benchmarks/launch.py [SCRIPT ...]``.

The figures the README quotes: milliseconds a script after import (best of many rounds), the import, and the peak of
resident memory against the same Python before the import.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

INCIDENT = Path(__file__).parents[1] / "examples" / "incident"
ROUNDS = 50


def peak() -> int:
    """The peak of this process's resident memory in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def milliseconds(action: object) -> tuple[float, float]:
    """Best and median of the rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()  # type: ignore[operator]
        taken.append((time.perf_counter() - start) * 1000)
    return min(taken), sorted(taken)[ROUNDS // 2]


def main() -> None:
    before = peak()
    start = time.perf_counter()
    from pytest_ascendenv.launch.subjects import describe

    scripts = [Path(name).resolve() for name in sys.argv[1:]] or sorted(INCIDENT.glob("*.sh"))
    describe(os.fspath(scripts[0]))
    print(f"import and first script   {(time.perf_counter() - start) * 1000:8.1f} ms")
    for script in scripts:
        best, median = milliseconds(lambda script=script: describe(os.fspath(script)))  # type: ignore[misc]
        size = script.stat().st_size
        print(f"{script.name:25} {best:8.2f} ms best, {median:.2f} ms median  ({size} bytes, with its configurations)")
    print(f"memory                    {peak() - before:8d} MiB more than before the import ({peak()} MiB in all)")


if __name__ == "__main__":
    main()
