"""The affinity checks on a host with 4000 processes, and the contention probe over many trials.

    python benchmarks/affinity.py [--trials 20] [--seconds 300]

The fake /proc has 8 torch_npu jobs of 300 threads each among 4000 processes. A quiet trial counts where /proc/stat says
that nobody else used the core meanwhile; the others are counted and left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from hosts import Process, Thread, make_host

from pytest_ascendenv.checks import load
from pytest_ascendenv.checks.exclusive import FAIL
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import contention
from pytest_ascendenv.probes.host import Host

CHECKS = ("pinned_cores", "cpu_mask", "cpu_quota", "omp_binding")
HOG = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"


def crowded(root: Path) -> Host:
    named = (Thread("acl_thread", "180"), Thread("release_thread", "181"), Thread("hccl_watchdog_t", "182"))
    jobs = [Process(9000 + 400 * i, threads=(*named, *[Thread("python")] * 296)) for i in range(8)]
    others = [Process(pid, f"kworker/{pid}") for pid in range(2, 3994)]
    environ = {"CPU_AFFINITY_CONF": "2,npu0:0-23", "OMP_NUM_THREADS": "8"}
    return make_host(root, npus=8, processes=[*others, *jobs], environ=environ)


def milliseconds(run: Callable[[], object], times: int = 15) -> tuple[float, float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took), max(took)


def judge(host: Host) -> None:
    env = AscendEnv(host, Declared(torch_npu_release="7.3.0"))
    load("affinity_mode").judge("fine", env)
    for name in CHECKS:
        load(name).judge(None, env)


def busy_ticks(core: int) -> int:
    """Ticks of 10 ms in which the core was not idle, and not taken by the hypervisor either."""
    (line,) = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} ")]
    user, nice, system, _, _, irq, softirq, *_ = map(int, line.split()[1:])
    return user + nice + system + irq + softirq


def with_hog(core: int) -> tuple[float, bool, float]:
    """(wait, whether the hog was named, seconds)."""
    argv = [sys.executable, "-c", HOG, str(core)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as hog:
        assert hog.stdout is not None
        hog.stdout.readline()
        start = time.monotonic()
        seen = contention.measure(Host(), [core])
        seconds = time.monotonic() - start
        hog.kill()
    return seen.worst, any(one.pid == hog.pid and not one.own for one in seen.intruders), seconds


def alone(core: int) -> tuple[float, float]:
    """(wait, share of the time in which others used the core meanwhile, by /proc/stat)."""
    before, start = busy_ticks(core), time.monotonic()
    wait = contention.measure(Host(), [core]).worst
    probe = 3 * contention.WINDOW * (1 - wait)
    return wait, (busy_ticks(core) - before) / 100 / (time.monotonic() - start) - probe / (time.monotonic() - start)


def trials(count: int, limit: float) -> None:
    """``count`` trials with a hog, then as many on a core that nobody else used for more than a twentieth."""
    core = max(os.sched_getaffinity(0))
    waits, named, took = zip(*(with_hog(core) for _ in range(count)), strict=True)
    found = sum(wait > FAIL for wait in waits)
    print(f"hog: found {found}/{count}, named {sum(named)}/{count}, wait {min(waits):.2f} to {max(waits):.2f}")
    print(f"probe: {statistics.median(took):.2f} s, at most {max(took):.2f} s")
    quiet: list[float] = []
    disturbed, end = 0, time.monotonic() + limit
    while len(quiet) < count and time.monotonic() < end:
        wait, others = alone(core)
        if others <= 0.05:
            quiet.append(wait)
        else:
            disturbed += 1
    blamed = sum(wait > FAIL for wait in quiet)
    print(
        f"quiet: blamed {blamed}/{len(quiet)}, wait at most {max(quiet, default=0):.2f}; "
        f"{disturbed} trials left out, as others used the core"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, metavar="N")
    parser.add_argument("--seconds", type=float, default=300, metavar="S", help="for the quiet trials, at most")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = crowded(Path(folder))
        judge(host)  # the modules are imported once
        median, worst = milliseconds(lambda: judge(host))
        print(f"all affinity checks, 4000 processes: {median:.1f} ms, at most {worst:.1f} ms")
    trials(given.trials, given.seconds)


if __name__ == "__main__":
    main()
