"""``min_throughput``: its arguments, and the finding for what a test measured."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from pytest_ascendenv.checks.throughput import MinThroughput
from pytest_ascendenv.environment import AscendEnv
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
    assert check.parse(value).floor == value


@pytest.mark.parametrize("value", [True, False, 0, -5, math.nan, math.inf, "100", None, [100]])
def test_anything_else_is_refused_with_what_is_allowed(value):
    with pytest.raises((TypeError, ValueError), match=r"found .*; allowed is a positive number of samples/s"):
        check.parse(value)


def test_no_or_two_arguments_are_refused():
    for arguments in ((), (1, 2)):
        with pytest.raises(TypeError, match="allowed is a positive number"):
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


def test_judging_imports_neither_mindspore_nor_numpy():
    code = (
        "import sys; from pytest_ascendenv.checks import load; from pytest_ascendenv.environment import AscendEnv;"
        "check = load('min_throughput'); check.judge(check.parse(5), AscendEnv(subject='t', measured=()));"
        "from pytest_ascendenv.pipeline import measure; measure(range(10), duration=0.1);"
        "print(sorted({'mindspore', 'numpy', 'psutil'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
