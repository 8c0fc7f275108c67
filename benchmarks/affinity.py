"""The affinity checks on a host with 4000 processes, and the contention probe over many trials.

    python benchmarks/affinity.py [--trials 20]

The fake /proc has 8 torch_npu jobs of 300 threads each among 4000 processes. The trials need a core to themselves: they
wait until it is idle, and tell how long that took.
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


def idle(core: int) -> float:
    """Seconds until the core was at most a tenth busy for half a second; gives up after two minutes."""

    def ticks() -> int:
        (line,) = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} ")]
        return sum(map(int, line.split()[4:6]))

    start = time.monotonic()
    while time.monotonic() - start < 120:
        before, at = ticks(), time.monotonic()
        time.sleep(0.5)
        if (ticks() - before) / 100 / (time.monotonic() - at) > 0.9:
            break
    return time.monotonic() - start


def trials(count: int) -> None:
    core, named, found, blamed, took = max(os.sched_getaffinity(0)), 0, 0, 0, []
    waits: list[float] = []
    quiet: list[float] = []
    for _ in range(count):
        argv = [sys.executable, "-c", HOG, str(core)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as hog:
            assert hog.stdout is not None
            hog.stdout.readline()
            start = time.monotonic()
            seen = contention.measure(Host(), [core])
            took.append(time.monotonic() - start)
            hog.kill()
        waits.append(seen.worst)
        found += seen.worst > 0.30
        named += any(one.pid == hog.pid and not one.own for one in seen.intruders)
    for _ in range(count):
        idle(core)
        seen = contention.measure(Host(), [core])
        quiet.append(seen.worst)
        blamed += seen.worst > 0.30
    print(f"hog: found {found}/{count}, named {named}/{count}, wait {min(waits):.2f} to {max(waits):.2f}")
    print(f"quiet: blamed {blamed}/{count}, wait {min(quiet):.2f} to {max(quiet):.2f}")
    print(f"probe: {statistics.median(took):.2f} s, at most {max(took):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, metavar="N")
    count = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        host = crowded(Path(folder))
        judge(host)  # the modules are imported once
        median, worst = milliseconds(lambda: judge(host))
        print(f"all affinity checks, 4000 processes: {median:.1f} ms, at most {worst:.1f} ms")
    trials(count)


if __name__ == "__main__":
    main()
