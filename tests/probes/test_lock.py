"""One measurement at a time on a host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from pytest_ascendenv.pipeline import measure
from pytest_ascendenv.probes import lock

HOLD = """
import sys, time
from pytest_ascendenv.probes import lock
with lock.alone(name=sys.argv[1]) as alone:
    print(alone, flush=True)
    time.sleep(float(sys.argv[2]))
    print("done", flush=True)
"""


@pytest.fixture
def name():
    return f"\0pytest-ascendenv.test-{os.getpid()}"


@pytest.fixture
def holder(name):
    """Starts another process that holds the lock."""
    children = []

    def hold(seconds):
        argv = [sys.executable, "-c", HOLD.replace("sys.argv[1]", repr(name)), "-", str(seconds)]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "True\n"
        children.append(child)
        return child

    yield hold
    for child in children:
        child.kill()
        child.communicate()


def test_it_waits_until_the_other_is_done(name, holder):
    other = holder(0.5)
    with lock.alone(name=name) as alone:
        assert alone
        assert other.stdout.readline() == "done\n"


def test_it_gives_up_after_its_patience(name, holder):
    holder(60)
    with lock.alone(0.2, name) as alone:
        assert not alone


def test_a_killed_holder_frees_it(name, holder):
    other = holder(60)
    other.send_signal(signal.SIGKILL)
    with lock.alone(10, name) as alone:
        assert alone


def test_a_worker_that_outlives_its_parent_does_not_hold_it(name):
    with lock.alone(name=name):
        child = os.fork()
        if child == 0:
            lock.forget()
            time.sleep(60)
            os._exit(0)
    with lock.alone(1, name) as alone:
        assert alone
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_measurements_of_two_processes_do_not_overlap():
    code = (
        "import time; from pytest_ascendenv.pipeline import measure\n"
        "def ticking():\n"
        "    while True:\n        print(time.monotonic(), flush=True); time.sleep(.01); yield 1\n"
        "measure(ticking(), duration=0.3)"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    times = sorted([float(line) for line in run.communicate()[0].splitlines()] for run in runs)
    assert len(times[0]) > 5
    for before, after in pairwise(times):
        assert before[-1] < after[0]


def test_measured_without_the_lock_it_says_that_it_was_not_alone(holder, name, monkeypatch):
    monkeypatch.setattr(lock, "NAME", name)
    holder(60)
    result = measure(range(10**9), duration=0.1, patience=0.1)
    assert result.others == 1
    assert result.disturbed
