"""A few rows of a pipeline, read in a child: what worker processes are for, and how large a batch is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from test_program_rules import judge

from pytest_ascendenv.training import dataset, sampling
from pytest_ascendenv.training.record import DatasetSeen, Observation

np = pytest.importorskip("numpy", reason="numpy comes with MindSpore, which is not installed")


class Rows:
    """``work`` for each row of 8x8x3 bytes."""

    def __init__(self, work: Any = None) -> None:
        self.work = work

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> Any:
        row = np.zeros((8, 8, 3), np.uint8)
        return (self.work(row) if self.work else row,)


def light(row: Any) -> Any:
    return row


def waits(row: Any, *rest: Any) -> Any:
    time.sleep(0.005)
    return row


def computes(row: Any, *rest: Any) -> Any:
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    return row


def hangs(row: Any) -> Any:
    time.sleep(600)


def fails(row: Any) -> Any:
    raise ArithmeticError("no such row")


def notes(data: Any) -> list[str]:
    """What dataset_rules says of the worker processes."""
    operations = sampling.with_costs(data, dataset.walk(data))
    seen = Observation(datasets=[DatasetSeen("train.py:3", operations)])
    return [note for note in judge("dataset_rules", seen).notes if "worker processes, and takes" in note]


@pytest.fixture
def pipeline(mindspore: Any) -> Any:
    def built(function: Any = None, work: Any = None, each: Any = None) -> Any:
        several = {"num_parallel_workers": 2, "python_multiprocessing": True}
        data = mindspore.dataset.GeneratorDataset(Rows(work), ["x"], shuffle=False, **(several if work else {}))
        if function:
            data = data.map([function, mindspore.dataset.vision.HWC2CHW()], ["x"], **several)
        return data.batch(4, per_batch_map=each, **(several if each else {}))

    return built


@pytest.mark.parametrize("place", ["function", "work", "each"])
def test_processes_that_wait_are_needless_and_those_that_compute_are_not(pipeline: Any, place: str) -> None:
    (note,) = notes(pipeline(**{place: waits}))
    assert "of it" in note
    assert "python_multiprocessing=False" in note
    assert notes(pipeline(**{place: computes})) == []


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Three processes for each core that want it all."""
    command = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(command) for _ in range(3 * len(os.sched_getaffinity(0)))]
    yield
    for hog in hogs:
        hog.kill()
        hog.wait()


def test_what_computes_does_not_look_as_if_it_waited_on_a_busy_machine(pipeline: Any, busy_machine: None) -> None:
    assert notes(pipeline(function=computes)) == []


def test_a_light_function_is_cheaper_in_a_thread(pipeline: Any) -> None:
    (note,) = notes(pipeline(function=light))
    assert "MapDataset (light, HWC2CHW)" in note
    assert "a process takes longer to be handed the row" in note


@pytest.mark.parametrize("function", [hangs, fails])
def test_nothing_is_said_of_rows_that_do_not_come(
    pipeline: Any, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "HANG", 0.5)
    assert notes(pipeline(function=function)) == []


def test_the_pipeline_itself_is_left_as_it_was(pipeline: Any) -> None:
    data = pipeline(function=waits)
    before = dataset.walk(data)
    notes(data)
    assert dataset.walk(data) == before
    assert next(iter(data.create_tuple_iterator(num_epochs=1, output_numpy=True)))[0].shape == (4, 3, 8, 8)


def test_the_largest_column_of_a_batch(pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampling.largest_column(pipeline(function=light)) == 4 * 3 * 8 * 8
    monkeypatch.setattr(sampling, "BATCH", 0.5)
    assert sampling.largest_column(pipeline(function=hangs)) is None


def test_a_captured_program_is_sampled(captured: Any) -> None:
    (call,) = captured("worker_processes.py").observation.calls
    assert [one.cost is not None for one in call.operations] == [True, True, False]
    assert captured("blog.py").observation.calls[0].facts["batch_bytes"].value == 32 * 3 * 224 * 224 * 4
