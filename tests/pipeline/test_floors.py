"""Floors from an epoch's time or a step's, and what is refused."""

from __future__ import annotations

import pytest

from pytest_ascendenv.pipeline.floors import duration, floor


def test_an_epoch_in_time():
    wanted = floor(samples=150_000, within="30 min")
    assert wanted.rate == pytest.approx(83.333, abs=0.001)
    assert str(wanted) == "at least 83.3 samples/s (150000 samples within 30 min)"


def test_the_steps_of_all_ranks_of_the_host():
    wanted = floor(step_time="120 ms", batch=32, ranks=8, utilization=0.9)
    assert wanted.rate == pytest.approx(1920)
    assert str(wanted) == "at least 1920.0 samples/s (90% of batch 32 x 8 ranks every 120 ms)"
    assert floor(step_time=0.12, batch=32).rate == pytest.approx(240)


def test_a_rate_by_name_and_the_allowed_variation():
    assert floor(rate=100) == floor(100)
    assert str(floor(100, max_variation=0.2)) == "at least 100 samples/s, varying by at most 20%"
    assert floor(samples=10, within="1 s", max_variation=0.5).max_variation == 0.5


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("120 ms", 0.12), ("30min", 1800), ("1.5 h", 5400), ("2 s", 2), ("80 us", 8e-5), (3, 3), (0.25, 0.25)],
)
def test_times(text, seconds):
    assert duration("within", text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((100,), {"samples": 5}, "found min_throughput.100, samples=5."),
        ((), {"samples": 5}, "allowed is min_throughput.100."),
        ((), {"samples": 5, "within": "30 minutes"}, "found within='30 minutes'; allowed are seconds or a text"),
        ((), {"samples": 5, "within": 0}, "found within=0"),
        ((), {"samples": True, "within": 1}, "found samples=True"),
        ((), {"step_time": "1 s", "batch": 2.5}, "found batch=2.5; allowed is a whole number"),
        ((), {"step_time": "1 s", "batch": 8, "ranks": 0}, "found ranks=0"),
        ((), {"step_time": "1 s", "batch": 8, "utilization": 90}, "found utilization=90; allowed is a share"),
        ((), {"step_time": "1 s", "batch": 8, "rank": 8}, "rank=8"),
        ((100,), {"max_variation": -0.1}, "found max_variation=-0.1; allowed is the largest coefficient"),
    ],
)
def test_what_is_refused_says_what_is_allowed(args, kwargs, text):
    with pytest.raises((TypeError, ValueError), match=text):
        floor(*args, **kwargs)
