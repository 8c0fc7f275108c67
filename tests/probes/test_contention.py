"""What a pinned thread really gets: real busy neighbours on this machine, a real quota, and made-up numbers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import make_host

from pytest_ascendenv.probes import contention
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

CORE = max(os.sched_getaffinity(0))


@contextlib.contextmanager
def hog(core: int) -> Iterator[int]:
    """A stranger that keeps one core busy; it ends with its standard input."""
    code = (
        f"import os, sys, threading; os.sched_setaffinity(0, {{{core}}})\n"
        "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()\n"
        "print('busy', flush=True)\n"
        "while True: pass\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
    finally:
        child.communicate()


def busy(core: int, seconds: float = 0.5) -> float:
    """The share of time in which a core is not idle now: another witness than the one that is tested."""

    def idle() -> int:
        (line,) = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} ")]
        return sum(map(int, line.split()[4:6]))

    before, start = idle(), time.monotonic()
    time.sleep(seconds)
    return 1 - (idle() - before) / 100 / (time.monotonic() - start)


def test_a_pinned_neighbour_is_found_and_named() -> None:
    with hog(CORE) as pid:
        seen = contention.measure(Host(), [CORE])
    assert seen.waits[CORE] > 0.30
    (intruder,) = [one for one in seen.intruders if one.pid == pid]
    assert intruder.allowed == (CORE,)
    assert not intruder.own
    assert contention.NOTABLE <= intruder.share < 1.1
    assert str(pid) in str(intruder)


def test_a_quiet_core_is_not_blamed() -> None:
    deadline = time.monotonic() + 15
    while (share := busy(CORE)) > 0.1:
        if time.monotonic() > deadline:
            pytest.skip(f"core {CORE} was not idle for 15 s: {share:.0%} busy with other work")
    for _ in range(3):  # other work may have begun meanwhile
        seen = contention.measure(Host(), [CORE])
        if seen.waits[CORE] <= 0.15:
            break
        if busy(CORE) > 0.1:
            pytest.skip(f"other work began on core {CORE} meanwhile")
    assert seen.waits[CORE] <= 0.15
    assert seen.throttled == 0


def test_nothing_is_left_behind() -> None:
    before = set(os.listdir("/proc/self/task"))
    contention.measure(Host(), [CORE])
    assert set(os.listdir("/proc/self/task")) == before
    assert os.sched_getaffinity(0) >= {CORE}


CGROUP = Path("/sys/fs/cgroup/cpu")


@pytest.fixture
def quota() -> Iterator[Path]:
    """A cgroup v1 with a fifth of a core: less than its share even where other tests load this machine."""
    if not (CGROUP / "cpu.cfs_quota_us").exists() or os.geteuid() != 0:
        pytest.skip("needs root and cgroup v1 with the cpu controller")
    folder = CGROUP / f"ascendenv-test-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    try:
        (folder / "cpu.cfs_quota_us").write_text("20000")
        (folder / "cpu.cfs_period_us").write_text("100000")
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            (CGROUP / "cgroup.procs").write_text(pid)
        folder.rmdir()


def test_throttling_by_a_quota_is_told_apart(quota: Path) -> None:
    code = (
        "import os, sys, json; from pathlib import Path\n"
        "Path(sys.argv[1], 'cgroup.procs').write_text(str(os.getpid()))\n"
        "from pytest_ascendenv import AscendEnv\n"
        "from pytest_ascendenv.checks import load\n"
        "env = AscendEnv()\n"
        "finding = load('exclusive_host').judge(None, env)\n"
        "print(json.dumps([env.cpu.quota, env.cpu.usable, finding.verdict.value, finding.cause]))\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(quota)], capture_output=True, text=True, check=True).stdout
    cores, usable, verdict, cause = json.loads(out)
    assert (cores, usable, verdict) == (0.2, 1, "fail")
    assert "quota stopped this group" in cause


def test_a_captured_host_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="captured host"):
        contention.measure(make_host(tmp_path), [0])


def test_the_median_of_three_windows_counts() -> None:
    rounds = [{"3": [100, 300]}, {"3": [400, 0]}, {"3": [300, 100]}]
    assert contention.waits(rounds, [3]) == {3: 0.25}


def test_a_core_that_the_kernel_refuses_is_unknown() -> None:
    with pytest.raises(Unknown, match="core 9"):
        contention.waits([{"3": [1, 1]}], [9])


def test_a_kernel_without_schedstat_is_unknown() -> None:
    with pytest.raises(Unknown, match="schedstat"):
        contention.waits([{"3": [0, 0]}] * 3, [3])
