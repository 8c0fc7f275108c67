"""The ``throughput`` fixture and ``min_throughput`` on plain iterables; MindSpore's datasets have their own tests."""

from __future__ import annotations

import pytest

from pytest_ascendenv.checks import HOST_CHECKS

MARKED = ("--ascend-env", "-m", "not ascend_env")


def run(pytester: pytest.Pytester, body: str, *args: str) -> pytest.RunResult:
    pytester.makepyfile(f"import itertools, time, pytest\n{body}")
    return pytester.runpytest_subprocess(*(args or MARKED))


def test_above_the_floor_passes_and_prints_the_rate(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "@pytest.mark.min_throughput(100)\ndef test_a(throughput): throughput(itertools.repeat(0))",
        *MARKED,
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(["*= ascend-env =*", "*::test_a: * samples/s (* samples in * s)"])
    assert 'name="throughput"' in (pytester.path / "out.xml").read_text()


SLOW = """
def slow():
    while True:
        time.sleep(0.02)
        yield 0
"""


def test_below_the_floor_fails_with_rate_samples_and_seconds(pytester: pytest.Pytester) -> None:
    body = SLOW + "@pytest.mark.min_throughput(500)\ndef test_a(throughput): throughput(slow())"
    result = run(pytester, body)
    result.assert_outcomes(failed=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(
        ["min_throughput: expected at least 500 samples/s, found * samples/s (* samples in * s)*"]
    )


def test_nothing_measured_fails(pytester: pytest.Pytester) -> None:
    result = run(pytester, "@pytest.mark.min_throughput(5)\ndef test_a(throughput): pass")
    result.assert_outcomes(failed=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(["min_throughput: *found nothing was measured"])


def test_without_a_marker_the_result_compares_like_a_number(pytester: pytest.Pytester) -> None:
    body = "def test_a(throughput):\n    assert throughput(itertools.repeat(0), batch_size=4, duration=0.2) >= 100\n"
    run(pytester, body, "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_failed_comparison_shows_the_measurement(pytester: pytest.Pytester) -> None:
    body = SLOW + "def test_a(throughput):\n    assert throughput(slow(), duration=0.2) >= 1e6\n"
    result = run(pytester, body, "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["E*assert <Throughput * samples/s (* samples in * s)> >= 1000000*"])


def test_exception_of_the_pipeline_is_an_error_with_the_users_line(pytester: pytest.Pytester) -> None:
    body = (
        "def load():\n    yield 1\n    raise OSError('no such image')\n"
        "@pytest.mark.min_throughput(5)\ndef test_a(throughput): throughput(load())"
    )
    result = run(pytester, body)
    result.assert_outcomes(errors=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(["could not tell: the pipeline raised OSError: no such image (*.py:4 in load)*"])


def test_empty_pipeline_is_never_a_pass(pytester: pytest.Pytester) -> None:
    result = run(pytester, "@pytest.mark.min_throughput(5)\ndef test_a(throughput): throughput([])")
    result.assert_outcomes(errors=1, deselected=len(HOST_CHECKS))


def test_worst_of_several_measurements_counts(pytester: pytest.Pytester) -> None:
    body = (
        SLOW + "@pytest.mark.min_throughput(500)\n"
        "def test_a(throughput):\n    throughput(itertools.repeat(0))\n    throughput(slow())\n"
    )
    run(pytester, body).assert_outcomes(failed=1, deselected=len(HOST_CHECKS))


def test_fact_that_is_missing_is_an_error(pytester: pytest.Pytester) -> None:
    body = (
        "from pytest_ascendenv import Unknown\n"
        "@pytest.mark.affinity_mode('off')\ndef test_a(ascend_env): raise Unknown('no NPU is visible')"
    )
    result = run(pytester, body)
    result.assert_outcomes(errors=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(["could not tell: no NPU is visible"])


def test_fact_that_is_missing_in_a_fixture_or_a_testcase_is_an_error(pytester: pytest.Pytester) -> None:
    body = (
        "import unittest\nfrom pytest_ascendenv import Unknown\n"
        "@pytest.fixture\ndef npu(): raise Unknown('no NPU is visible')\n"
        "def test_a(npu): pass\n"
        "class TestCase(unittest.TestCase):\n    def test_b(self): raise Unknown('no NPU is visible')\n"
    )
    result = run(pytester, body)
    result.assert_outcomes(errors=2, deselected=len(HOST_CHECKS))
    result.stdout.no_fnmatch_line("*During handling*")
    pytester.makefile(".toml", **{"ascend-env": 'unknown = "skip"\n'})
    run(pytester, body).assert_outcomes(skipped=2, deselected=len(HOST_CHECKS))


def test_expected_unknown_is_expected(pytester: pytest.Pytester) -> None:
    body = (
        "from pytest_ascendenv import Unknown\n"
        "@pytest.mark.xfail(raises=Unknown)\ndef test_a(): raise Unknown('no NPU is visible')\n"
    )
    run(pytester, body).assert_outcomes(xfailed=1, deselected=len(HOST_CHECKS))


def test_wrong_argument_is_shown_at_the_users_line(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_a(throughput): throughput([1], batch_size=0)")
    result.assert_outcomes(failed=1, deselected=len(HOST_CHECKS))
    result.stdout.no_fnmatch_line("*pytest_ascendenv/*")


def test_environment_is_in_no_traceback(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "xyzzy")
    result = run(pytester, "def test_a(ascend_env): assert repr(ascend_env) == ''", "--showlocals")
    result.stdout.no_fnmatch_line("*xyzzy*")
