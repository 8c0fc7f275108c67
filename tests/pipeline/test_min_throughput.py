"""``min_throughput``: its arguments, and the finding for what a test measured."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_ascendenv.checks.throughput import MinThroughput
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.pipeline.cause import Load
from pytest_ascendenv.pipeline.decision import Rule
from pytest_ascendenv.pipeline.loop import Trace
from pytest_ascendenv.pipeline.result import of_trace
from pytest_ascendenv.verdict import Unknown, Verdict

check = MinThroughput()


def measured(*windows, floor=None, **known):
    trace = Trace(tuple(windows), 0.02, 32, len(windows), sum(n for n, _ in windows))
    return of_trace(trace, Rule(floor), None, **{"method": "forked child", **known})


def env(*results, subject="test_input.py::test_pipeline"):
    return AscendEnv(subject=subject, measured=results)


STEADY_80 = measured(*[(8, 0.1)] * 10)
STEADY_120 = measured(*[(12, 0.1)] * 10)


@pytest.mark.parametrize("value", [100, 0.5, 1e6])
def test_a_positive_number_is_a_floor(value):
    assert check.parse(value).rate == value


@pytest.mark.parametrize("value", [True, False, 0, -5, math.nan, math.inf, "100", None, [100]])
def test_anything_else_is_refused_with_what_is_allowed(value):
    with pytest.raises((TypeError, ValueError), match=r"found .*; allowed is min_throughput\(100\) in samples/s"):
        check.parse(value)


def test_no_or_two_arguments_are_refused():
    for arguments in ((), (1, 2)):
        with pytest.raises(TypeError, match="allowed is min_throughput"):
            check.parse(*arguments)


def test_a_rate_below_the_floor_fails_with_rate_samples_and_seconds():
    finding = check.judge(check.parse(100), env(STEADY_80))
    assert finding.verdict is Verdict.FAIL
    assert finding.expected == "at least 100 samples/s"
    assert finding.found == "80.0 samples/s (80 samples in 1.00 s)"
    assert finding.fix


def test_a_rate_at_or_above_the_floor_passes():
    assert check.judge(check.parse(100), env(STEADY_120)).verdict is Verdict.PASS
    assert check.judge(check.parse(120), env(measured((120, 1.0), (120, 1.0)))).verdict is Verdict.PASS


def test_the_worst_measurement_of_a_test_decides():
    finding = check.judge(check.parse(100), env(STEADY_120, STEADY_80, STEADY_120))
    assert finding.verdict is Verdict.FAIL
    assert finding.found.startswith("80.0")


def test_a_test_that_measured_nothing_fails():
    finding = check.judge(check.parse(100), env())
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "nothing was measured"
    assert "throughput(dataset)" in finding.fix


def test_without_a_test_it_cannot_be_told():
    with pytest.raises(Unknown, match="no pipeline was measured"):
        check.judge(check.parse(100), AscendEnv())


def swinging(floor=None):
    return measured(*[(30 if number // 5 % 2 else 10, 0.1) for number in range(60)], floor=floor)


def test_swings_fail_though_the_rate_is_fine():
    assert check.judge(check.parse(100), env(swinging())).verdict is Verdict.PASS
    finding = check.judge(check.parse(100, max_variation=0.2), env(swinging()))
    assert finding.verdict is Verdict.FAIL
    assert "varying by 50%" in finding.found


NEAR = measured(*[(98, 1.0), (100, 1.0)] * 5)


def judged(wanted, *results, **declared):
    given = env(*results)
    given.declared = Declared(**declared)
    return check.judge(wanted, given)


def test_within_the_noise_the_setting_decides():
    above, below = judged(check.parse(98), NEAR), judged(check.parse(100), NEAR)
    assert (above.verdict, below.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert "within the noise: the 99% interval of the rate is 8" in above.notes[0]
    assert judged(check.parse(98), NEAR, inconclusive="fail").verdict is Verdict.FAIL


BUSY = Load(1.0, (0,), 2, own=0.6, busy=1.0, waited=0.5)


def test_a_pass_within_the_noise_tells_the_cause():
    finding = judged(check.parse(98), replace(NEAR, load=BUSY))
    assert finding.verdict is Verdict.PASS
    assert finding.notes[1].startswith("STARVED: 40% of CPU 0")
    assert finding.notes[2].startswith("fix: stop them")
    assert judged(check.parse(50), replace(NEAR, load=BUSY)).notes == ()


def test_steady_for_a_second_is_within_the_noise_of_swings():
    finding = judged(check.parse(100, max_variation=0.2), STEADY_120)
    assert "seen for 1.0 s of the 5 s that show swings" in finding.notes[0]
    assert judged(check.parse(100, max_variation=0.2), measured(*[(12, 0.1)] * 52)).notes == ()


def test_below_the_floor_beside_other_workers_nobody_can_tell():
    beside = replace(STEADY_80, others=3)
    finding = judged(check.parse(100), beside)
    assert finding.verdict is Verdict.UNKNOWN
    assert "3 other test workers ran beside the measurement; run it again alone (-n0)" in finding.notes[0]
    assert judged(check.parse(100), beside, inconclusive="fail").verdict is Verdict.FAIL
    assert judged(check.parse(79), beside).verdict is Verdict.PASS  # they can only slow it down


def test_a_starved_rate_fails_unless_the_setting_lets_it_be_told_again():
    starved = replace(STEADY_80, load=BUSY)
    finding = judged(check.parse(100), starved)
    assert finding.verdict is Verdict.FAIL
    assert finding.cause.startswith("STARVED: 40% of CPU 0 went to other processes")
    assert judged(check.parse(100), starved, contended="inconclusive").verdict is Verdict.UNKNOWN
    # Not even free cores would make it: about 1.4 * 88 / 0.6.
    assert judged(check.parse(300), starved, contended="inconclusive").verdict is Verdict.FAIL
    assert judged(check.parse(100), STEADY_80, contended="inconclusive").verdict is Verdict.FAIL
    near = replace(NEAR, load=BUSY)  # the weaker evidence does not fail harder
    assert judged(check.parse(100), near).verdict is Verdict.FAIL
    assert judged(check.parse(100), near, contended="inconclusive").verdict is Verdict.UNKNOWN


def test_a_failure_shows_the_windows():
    assert "10 to 30" not in judged(check.parse(100), STEADY_120).detail
    detail = judged(check.parse(500), swinging()).detail
    assert detail.startswith("windows ")
    assert detail.endswith("100 to 300 samples/s")


def test_judging_imports_neither_mindspore_nor_numpy():
    code = (
        "import sys; from pytest_ascendenv.checks import load; from pytest_ascendenv.environment import AscendEnv;"
        "check = load('min_throughput'); check.judge(check.parse(5), AscendEnv(subject='t', measured=()));"
        "from pytest_ascendenv.pipeline import measure; measure(range(10), duration=0.1);"
        "print(sorted({'mindspore', 'numpy', 'psutil'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
