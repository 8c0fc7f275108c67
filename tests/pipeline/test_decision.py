"""The sequential verdict on made-up window traces."""

from __future__ import annotations

import math
import random

import pytest

from pytest_ascendenv.pipeline import decision
from pytest_ascendenv.pipeline.decision import Rule, decide, interval


def noisy(rate, spread, number, seed=0, seconds=0.1):
    draw = random.Random(seed)
    return [(round(max(0.0, draw.gauss(rate, spread * rate)) * seconds), seconds) for _ in range(number)]


def first_answer(windows, rule):
    """As the measuring loop asks: after every window."""
    for number in range(1, len(windows) + 1):
        answer = decide(windows[:number], rule)
        if answer != "unclear":
            return answer, number
    return "unclear", len(windows)


@pytest.mark.parametrize(("share", "wanted"), [(0.5, "above"), (0.8, "above"), (1.25, "below"), (2.0, "below")])
def test_far_from_the_floor_every_noisy_trace_is_decided_right(share, wanted):
    answers = [first_answer(noisy(2000, 0.1, 80, seed), Rule(2000 * share)) for seed in range(64)]
    assert {answer for answer, _ in answers} <= {wanted, "unclear"}
    assert sum(answer == wanted for answer, _ in answers) >= 60


def test_far_from_the_floor_the_answer_comes_early():
    assert first_answer(noisy(2000, 0.1, 80), Rule(1000))[1] <= 8
    assert first_answer(noisy(2000, 0.1, 80), Rule(4000))[1] <= 8


def test_within_the_noise_it_is_seldom_decided_and_hardly_ever_wrong():
    answers = [first_answer(noisy(2000, 0.1, 80, seed), Rule(2000 * 1.02))[0] for seed in range(64)]
    assert answers.count("above") <= 2
    assert answers.count("unclear") >= 48


def test_without_the_run_to_run_term_a_steady_trace_is_decided_closer_to_the_floor():
    steady = [(200, 0.1)] * 40
    assert decide(steady, Rule(1950)) == "unclear"
    assert decide(steady, Rule(1950, run_variation=0.01)) == "above"


def test_windows_that_follow_one_another_widen_the_interval():
    draw = random.Random(1)
    alone = [(100 + round(draw.gauss(0, 10)), 0.1) for _ in range(60)]
    low, high = interval(sorted(alone), 0.0)  # sorted: each window is like the one before
    near, far = interval(alone, 0.0)
    assert high - low > 1.5 * (far - near)


def test_few_short_windows_decide_nothing():
    assert decide([(100, 0.1)] * 5, Rule(1)) == "unclear"


def test_three_windows_of_a_slow_pipeline_tell_a_factor_of_two():
    slow = [(32, 3.0)] * 3  # 10.7 samples/s
    assert decide(slow, Rule(30)) == "below"
    assert decide(slow, Rule(4)) == "above"
    assert decide(slow, Rule(8)) == "unclear"
    assert decide(slow[:2], Rule(30)) == "unclear"


def test_no_floor_and_no_windows_have_no_bounds():
    assert interval([]) == (0.0, math.inf)
    assert decide([(1, 1.0)], Rule()) == "above"
    assert decide([], Rule(1)) == "unclear"


def test_the_quantiles_are_students():
    # R: qt(0.995, c(1, 5, 10, 11, 30, 100))
    for freedom, wanted in {1: 63.657, 5: 4.032, 10: 3.169, 11: 3.106, 30: 2.750, 100: 2.626}.items():
        assert decision.t99(freedom) == pytest.approx(wanted, abs=0.002)


def test_swings_break_the_allowed_variation_though_the_rate_is_fine():
    swinging = [(300 if number // 5 % 2 else 100, 0.1) for number in range(60)]
    assert decide(swinging, Rule(100)) == "above"
    assert first_answer(swinging, Rule(100, max_variation=0.2))[0] == "below"
    assert first_answer(noisy(2000, 0.05, 80), Rule(1000, max_variation=0.2))[0] == "above"


def test_steady_for_a_moment_is_not_steady():
    """The swings of the incident took seconds: some windows of one state look alike."""
    rule = Rule(1000, max_variation=0.2)
    assert decide([(200, 0.1)] * 20, rule) == "unclear"
    assert decide([(200, 0.1)] * 52, rule) == "above"
    assert decide([(200, 0.1)] * 20, Rule(1000, max_variation=0.2, watched=0)) == "above"
    slow_swings = [(200 if number // 20 % 2 else 600, 0.1) for number in range(80)]
    assert first_answer(slow_swings, rule)[0] == "below"


def test_percentiles_are_interpolated():
    assert decision.percentile([1, 2, 3, 4], 0.5) == 2.5
    assert decision.percentile([0, 10], 0.05) == pytest.approx(0.5)
    assert decision.percentile([7], 0.05) == 7
