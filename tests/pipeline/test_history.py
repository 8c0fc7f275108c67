"""The run-to-run variation that earlier runs teach."""

from __future__ import annotations

import random

import pytest

from pytest_ascendenv.pipeline.decision import RUN_VARIATION, Rule
from pytest_ascendenv.pipeline.history import KEPT, remember, run_variation
from pytest_ascendenv.pipeline.loop import Trace
from pytest_ascendenv.pipeline.result import of_trace


def result(rate=100, short=False, **known):
    trace = Trace(((rate, 1.0),) * 6, 0.1, 1, 6, 6 * rate, short)
    return of_trace(trace, Rule(), None, method="", **known)


def records(*rates):
    return [{"rate": rate} for rate in rates]


def test_with_few_runs_the_measured_default_holds():
    assert run_variation([]) == RUN_VARIATION
    assert run_variation(records(100, 150, 60, 100)) == RUN_VARIATION


@pytest.mark.parametrize("spread", [0.03, 0.10])
def test_it_is_learned_from_the_runs(spread):
    draw = random.Random(3)
    learned = [run_variation(records(*[draw.gauss(1000, spread * 1000) for _ in range(20)])) for _ in range(200)]
    assert sorted(learned)[100] == pytest.approx(spread, rel=0.2)


def test_a_pipeline_that_was_made_faster_does_not_count_as_a_wild_one():
    assert run_variation(records(100, 101, 99, 100, 400, 404, 396, 400)) < 0.03


def test_it_stays_within_bounds_and_ignores_spoilt_records():
    assert run_variation(records(*[100] * 10)) == 0.01
    assert run_variation(records(*[1, 100] * 5)) == 0.20
    assert run_variation([{"rate": None}, {}, {"rate": "x"}, {"rate": float("nan")}]) == RUN_VARIATION


def test_the_latest_undisturbed_runs_are_kept():
    kept = []
    for number in range(1, 30):
        kept = remember(kept, result(number))
    assert [each["rate"] for each in kept] == list(range(30 - KEPT, 30))
    assert remember(kept, result(others=2)) == kept
    assert remember(kept, result(short=True)) == kept
