"""The processes of a host: NPU jobs by their thread names, own and foreign ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import Process, Thread, make_host, stat_line, write

from pytest_ascendenv.probes import processes
from pytest_ascendenv.probes.host import Host

TRAINING = Process(
    7001,
    allowed="0-191",
    threads=(
        Thread("acl_thread", "1"),
        Thread("release_thread", "2"),
        Thread("hccl_watchdog_t", "3"),
        Thread("python"),
    ),
)


def test_a_torch_npu_job_is_found_by_its_threads(tmp_path: Path) -> None:
    host = make_host(tmp_path, processes=[Process(1, "systemd"), Process(6000, threads=[Thread("x")] * 5), TRAINING])
    (job,) = processes.npu_jobs(host)
    assert job.pid == 7001
    assert job.cores == {1, 2, 3}
    assert "acl_thread" in str(job)


def test_a_real_process_with_such_threads_is_found_without_privileges() -> None:
    code = (
        "import ctypes, sys, threading\n"
        "def named(name):\n"
        "    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)\n"
        "    ready.wait(); hold.wait()\n"
        "ready, hold = threading.Barrier(4), threading.Event()\n"
        "for name in (b'acl_thread', b'release_thread', b'hccl_watchdog_t'):\n"
        "    threading.Thread(target=named, args=(name,), daemon=True).start()\n"
        "ready.wait(); print('ready', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        jobs = {job.pid: job for job in processes.foreign_npu_jobs(Host())}
        assert set(jobs[child.pid].threads) == {"acl_thread", "release_thread", "hccl_watchdog_t"}
        assert jobs[child.pid].cores == frozenset(os.sched_getaffinity(child.pid))
    finally:
        child.communicate()


def test_a_captured_host_may_hold_processes_that_end(tmp_path: Path) -> None:
    host = make_host(tmp_path, processes=[TRAINING])
    for name in ("stat", "comm", "task/7002/status"):
        (tmp_path / "proc/7001" / name).unlink()
    assert processes.sample(host) == {}
    assert processes.npu_jobs(host)[0].cores == {2, 3}


@pytest.mark.parametrize("comm", ["a b", "x) R 1 (", "((", "tmux: server"])
def test_names_with_blanks_and_brackets(comm: str) -> None:
    one = processes.parse_stat(stat_line(5, comm, 1, 250, 3))
    assert one is not None
    assert (one.pid, one.comm, one.parent, one.seconds, one.core) == (5, comm, 1, 2.5, 3)


@pytest.mark.parametrize("text", ["", "12", "12 (x", "x (y) R 1", "12 (x) R"])
def test_what_is_no_stat_line(text: str) -> None:
    assert processes.parse_stat(text) is None


def test_own_are_ancestors_and_children_of_the_session() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        family = processes.own(processes.sample(Host()), os.getpid())
        assert {os.getpid(), os.getppid(), child.pid} <= family
        assert stranger.pid not in family
    finally:
        for one in (child, stranger):
            one.communicate(b"\n")


def test_a_pid_namespace_hides_processes(tmp_path: Path) -> None:
    host = make_host(tmp_path, processes=[Process(1)])
    write(tmp_path, "/proc/loadavg", "3.00 2.00 1.00 4/2900 77\n")
    assert processes.hidden(host)
    write(tmp_path, "/proc/loadavg", "3.00 2.00 1.00 1/2 77\n")
    assert not processes.hidden(host)
