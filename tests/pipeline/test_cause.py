"""The cause from the figures of the cores, and from real processes that take them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from pytest_ascendenv.pipeline import measure, processes
from pytest_ascendenv.pipeline.cause import Intruder, Load, at_rest, cause

# Medians of the recorded trials: two CPUs, 1.6 s.
QUIET = Load(1.6, (0, 1), 2, own=3.0, busy=3.05, waited=0.19, active=4)
BUSY = Load(1.69, (0, 1), 2, own=2.88, busy=2.75, waited=0.51, active=5)  # MindSpore's default workers
PINNED = Load(1.6, (0,), 2, own=1.58, busy=1.59, waited=0.88, active=4)
INTRUDED = Load(1.6, (0,), 2, own=1.09, busy=1.6, waited=1.1, active=4, intruders=(Intruder(7, "train.py", 0.31),))
SLEEPING = Load(1.6, (0, 1), 2, own=0.2, busy=0.25, waited=0.016, active=1)
SLEEPING_INTRUDED = Load(1.6, (0,), 2, own=0.2, busy=1.4, waited=0.06, active=1)
ONE_THREAD = Load(1.6, (0, 1), 2, own=1.6, busy=1.62, waited=0.02, active=1, ran=1.6)


@pytest.mark.parametrize(
    ("load", "kind"),
    [
        (QUIET, "CPU-BOUND"),
        (BUSY, "CPU-BOUND"),
        (replace(BUSY, active=24), "CROWDED"),
        (PINNED, "CROWDED"),
        (INTRUDED, "STARVED"),
        (replace(INTRUDED, own=1.2), "STARVED"),
        (SLEEPING, "WAITS"),
        (replace(SLEEPING, ran=0.02), "WAITS"),
        (ONE_THREAD, "CPU-BOUND"),
        (replace(ONE_THREAD, cores=tuple(range(192)), online=192), "CPU-BOUND"),
        (replace(ONE_THREAD, busy=3.1), "CPU-BOUND"),
        (SLEEPING_INTRUDED, "WAITS"),
        (replace(PINNED, throttled=8), "THROTTLED"),
        (replace(INTRUDED, busy=None, why="lxcfs"), "UNKNOWN"),
        (replace(INTRUDED, waited=None), "UNKNOWN"),
    ],
    ids=["quiet", "busy", "many workers", "pinned", "intruded", "less", "sleeping", "sleeping, seen", "one thread",
         "one of 192", "one, a neighbour beside it", "sleeping, intruded", "quota", "no stat", "no schedstat"],
)  # fmt: skip
def test_the_recorded_figures_give_the_planted_cause(load, kind):
    assert cause(load).kind == kind


def test_who_took_which_cores_is_said():
    found = cause(INTRUDED)
    assert "32% of CPU 0 went to other processes: train.py (pid 7, 0.3 CPUs)" in found.text
    assert "widen the binding" in found.fix
    assert "widen" not in cause(replace(INTRUDED, cores=(0, 1), busy=3.2, own=1.6)).fix


def test_crowding_blames_the_binding_only_where_there_is_one():
    assert "1 of 2 CPUs" in cause(PINNED).fix
    assert "fewer workers" in cause(replace(BUSY, active=24)).fix


def test_the_rate_on_free_cores_is_only_estimated_under_starvation():
    assert at_rest(68.0, INTRUDED) == pytest.approx(100, abs=1)
    assert at_rest(68.0, PINNED) is None


def spinning(seconds=0.004):
    while True:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        yield 1


@pytest.fixture
def one_core():
    """This process on one core, whatever else happens."""
    before = os.sched_getaffinity(0)
    core = min(before)
    os.sched_setaffinity(0, {core})
    yield core
    os.sched_setaffinity(0, before)


@pytest.fixture
def intruder(one_core):
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # inherits the core
    yield hog
    hog.kill()
    hog.wait()


def test_a_neighbour_on_the_same_core_is_named(intruder):
    result = measure(spinning(), duration=1.0)
    assert result.cause.kind == "STARVED"
    assert f"pid {intruder.pid}" in result.cause.text
    assert result.disturbed


@pytest.mark.skipif(not processes.threads(os.getpid()), reason="the kernel keeps no schedstat")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a core beside the busy one")
def test_one_thread_that_computes_is_no_waiting_however_many_cores_there_are():
    found = measure(spinning(), duration=1.0).cause
    assert found.kind in ("CPU-BOUND", "STARVED")  # the latter where other work has the cores just now
    assert found.kind == "STARVED" or "more cores" not in found.fix


def test_a_sleeping_pipeline_is_not_blamed_on_the_neighbour(intruder):
    def sleeping():
        while True:
            time.sleep(0.01)
            yield 1

    assert measure(sleeping(), duration=1.0).cause.kind == "WAITS"


@pytest.mark.skipif(not processes.threads(os.getpid()), reason="the kernel keeps no schedstat")
def test_cpu_time_of_the_pipeline_and_its_workers_is_counted(one_core):
    def forking():
        for _ in range(2):
            if os.fork() == 0:
                for _ in spinning():
                    pass
        yield from spinning()

    own = measure(spinning(), duration=0.6)
    assert 2 < own.cpu_ms_per_sample < 12
    assert measure(forking(), duration=1.0).cpu_ms_per_sample > 1.5 * own.cpu_ms_per_sample


@pytest.mark.parametrize("gone", ["thread", "process"])
def test_cpu_time_of_what_ended_meanwhile_is_the_pipelines_own(one_core, gone):
    def spin():
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass

    def handing_over():
        while True:
            if gone == "thread":
                worker = threading.Thread(target=spin)
                worker.start()
                worker.join()
            elif (pid := os.fork()) == 0:
                spin()
                os._exit(0)
            else:
                os.waitpid(pid, 0)
            yield 1

    assert measure(handing_over(), duration=1.0).cpu_ms_per_sample > 40


def test_a_trace_function_does_not_follow_the_pipeline():
    def rows():
        while True:
            yield sys.gettrace() is not None

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)  # as a coverage run does
    try:
        result = measure(rows(), duration=0.2, count=lambda traced: 0 if traced else 1)
    finally:
        sys.settrace(before)
    assert result.samples


def test_a_name_shows_the_script_but_no_argument(tmp_path):
    script = tmp_path / "job.py"
    script.write_text("import time; print(flush=True); time.sleep(100)")
    child = subprocess.Popen([sys.executable, script, "--password=geheim"], stdout=subprocess.PIPE)
    child.stdout.readline()
    shown = processes.name(child.pid)
    child.kill()
    child.communicate()
    assert shown.endswith("job.py")
    assert "geheim" not in shown
