"""A few steps of a captured program, run and timed on the device that it asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from captures import HERE

from pytest_ascendenv.training.capture import capture
from pytest_ascendenv.training.steps import Steps
from pytest_ascendenv.verdict import Fact, Unknown


def step_time(how: str, folder: Path, **options: Any) -> tuple[Fact, list[str]]:
    pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    observation = capture(
        f"{HERE / 'stepping.py'} {how}", folder=folder, environ=environ, steps=8, **options
    ).observation
    (call,) = observation.calls
    return call.facts["step_time"], observation.notes


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ("model", "ModelCheckpoint was left out"),
        ("fit", "ModelCheckpoint was left out"),
        ("loop", "save_checkpoint at"),
    ],
)
def test_steps_are_timed_and_no_checkpoint_is_written(tmp_path: Path, how: str, note: str) -> None:
    fact, notes = step_time(how, tmp_path)
    assert fact.status == "known"
    assert 0 < fact.value < 10
    assert "mean of 6 steps after 2" in fact.reason
    assert "stepping.py:" in fact.source
    assert any(each.startswith(note) for each in notes)
    assert [path for path in tmp_path.iterdir() if path.suffix in (".ckpt", ".meta")] == []


def test_an_evaluation_between_two_training_calls_is_no_part_of_a_step(tmp_path: Path) -> None:
    fact, _ = step_time("epochs", tmp_path)
    assert fact.value < 1  # with an evaluation of 6 s each six timed steps would take 1 s and more


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("short", ["came to its end", "before 8 steps were over"]),
        ("raises", ["raised ArithmeticError: the loss is NaN", "stepping.py:"]),
        ("hangs", ["12 s were over", "stepping.py:"]),
        ("rank", ["no step was run", "one rank of several"]),
    ],
)
def test_a_program_that_does_not_make_its_steps(tmp_path: Path, how: str, words: list[str]) -> None:
    fact, _ = step_time(how, tmp_path, seconds=12)
    assert fact.status == "unknown"
    assert all(word in fact.reason for word in words), fact.reason


def test_a_program_for_an_npu_is_not_run_on_a_cpu() -> None:
    pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")
    (call,) = capture("blog.py", folder=HERE, steps=8).observation.calls
    assert "the program is for Ascend, this machine has only a CPU" in call.facts["step_time"].reason


def test_the_way_to_the_training_call_has_its_limit_also_where_more_is_wanted() -> None:
    pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")
    with pytest.raises(Unknown, match="no training call in 2 s"):
        capture("hangs.py", folder=HERE, seconds=2, measure={}, steps=8)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Steps, list[Fact]]]:
    """Eight steps, two of them to warm up, and where the answer goes."""
    from types import SimpleNamespace

    from pytest_ascendenv.training import steps as module
    from pytest_ascendenv.training.hooks import Hooks

    monkeypatch.setattr(module, "_synchronize", lambda: None)
    found: list[Fact] = []
    steps = Steps(8, found.append, [], clock)
    with Hooks() as hooks:
        steps.begin("train.py:3", hooks, SimpleNamespace(save_checkpoint=print))  # type: ignore[arg-type]
        yield steps, found


def test_a_loop_is_timed_from_step_to_step(timed: tuple[Steps, list[Fact]], clock: Clock) -> None:
    steps, found = timed
    for number in range(9):
        steps.started("generator")
        steps.started("discriminator")  # another loop: not counted
        clock.now += 9.0 if number == 0 else 0.5
    assert found[0].value == pytest.approx(0.5)
    assert found[0].reason == "mean of 6 steps after 2, from one call of it to the next; the first one took 9.00 s"


def test_the_wait_for_the_next_batch_is_told_apart(timed: tuple[Steps, list[Fact]], clock: Clock) -> None:
    steps, found = timed
    for number in range(8):
        steps.resumed()
        clock.now += 0.5
        steps.advance(1)
        steps.ended()
        clock.now += 9.0 if number == 0 else 1.3
        if number == 4:
            steps.leaves()
            clock.now += 60.0
            steps.returns()
    assert found[0].value == pytest.approx(1.8)
    assert "after 2, 1.30 s of it between two steps, where the batch is read" in found[0].reason


def test_an_evaluation_between_the_steps_does_not_count(timed: tuple[Steps, list[Fact]], clock: Clock) -> None:
    steps, found = timed
    for number in range(8):
        clock.now += 0.5
        steps.advance(1)
        if number in (0, 4):
            steps.leaves()
            clock.now += 60.0
            steps.returns()
    assert found[0].value == pytest.approx(0.5)


def train(model: Any, epoch: int, train_dataset: Any, callbacks: Any = None, sink_size: int = -1) -> None: ...


@pytest.mark.parametrize(
    ("size", "taken", "epochs"),
    [(-1, 8, 2), (500, 8, 2), (4, 4, 3), (1, 1, 8), (3, 3, 3)],
    ids=["whole dataset", "larger", "smaller", "single steps", "uneven"],
)
def test_where_the_sink_acts_its_transfers_are_short_and_enough(
    timed: tuple[Steps, list[Fact]], size: int, taken: int, epochs: int
) -> None:
    """A step ends for the callbacks with a whole transfer: one warms up, the others are timed."""
    pytest.importorskip("mindspore", reason="callbacks are MindSpore's")
    steps, found = timed
    args, kwargs = steps.of_model(train, ("model", 1, "data"), {"sink_size": size}, sinks=True)
    _, epoch, _, callbacks = args[:4]
    assert (kwargs.get("sink_size") or args[4], epoch) == (taken, epochs)
    assert [type(callback).__name__ for callback in callbacks] == ["StepTimer"]
    for _ in range(epochs):
        steps.advance(taken)
    assert found


def test_a_data_sink_step_counts_by_its_size(timed: tuple[Steps, list[Fact]], clock: Clock) -> None:
    steps, found = timed

    def transfer() -> str:
        clock.now += 2.0
        return "loss"

    wrapped = steps.of_sink(transfer, 4)
    assert [wrapped() for _ in range(4)] == ["loss"] * 4
    assert found[0].value == pytest.approx(0.5)
