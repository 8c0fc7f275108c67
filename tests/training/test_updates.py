"""Whose gradient an optimiser applies: what is counted as a step where it is called by itself."""

from __future__ import annotations

from pytest_ascendenv.training.updates import Updates


def test_an_update_belongs_to_the_step_that_was_counted() -> None:
    updates = Updates()
    updates.step()
    assert updates.update() is None
    assert updates.update() is None  # a second optimiser for the same gradient
    updates.step()
    updates.step()  # gradients are accumulated
    assert updates.update() is None


def test_a_gradient_of_unknown_purpose_counts_with_the_update() -> None:
    updates = Updates()
    for _ in range(2):
        updates.gradient("its function")
        assert updates.pending
        assert updates.update() == ["its function"]
        assert not updates.pending


def test_one_for_an_adversarial_example_does_not() -> None:
    updates = Updates()
    updates.gradient("the attack")
    updates.step()
    assert not updates.pending
    assert updates.update() is None
    updates.step()
    updates.gradient("a term of the loss")  # is taken while the gradient of the step runs
    assert updates.update() is None


def test_an_update_after_nothing_that_was_seen_counts_each_time() -> None:
    updates = Updates()
    assert updates.update() == []
    assert updates.update() == []
