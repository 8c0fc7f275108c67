"""The ``throughput`` fixture and ``min_throughput`` on plain iterables; MindSpore's datasets have their own tests."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from pytest_ascendenv.checks import HOST_CHECKS

MARKED = ("--ascend-env", "-m", "not ascend_env")


def on_a_terminal(command: list[str], folder: str) -> str:
    """What a command writes to a terminal of 80 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environ = {**os.environ, "COLUMNS": "80", "TERM": "xterm", "PY_COLORS": "1"}
    with subprocess.Popen(command, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        written = b""
        with contextlib.suppress(OSError):  # the end of a terminal reads as an error
            while part := os.read(master, 4096):
                written += part
        os.close(master)
        assert child.wait() == 0
    return written.decode().replace("\r\n", "\n")


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


def test_advice_fails_no_test_and_turns_the_run_on(pytester: pytest.Pytester) -> None:
    body = "@pytest.mark.min_throughput(10)\ndef test_a(throughput): throughput(itertools.repeat(0))"
    result = run(pytester, body, "--ascend-env-advise", "-m", "not ascend_env")
    result.assert_outcomes(passed=1, deselected=len(HOST_CHECKS))
    result.stdout.fnmatch_lines(["*no advice on workers: repeat has no workers*"])


@pytest.mark.parametrize("detail", ["-q", "--tb=short", "-v"], ids=["quiet", "dots", "verbose"])
def test_progress_is_shown_and_leaves_no_trace_on_the_screen(pytester: pytest.Pytester, detail: str) -> None:
    tests = "def test_a(): pass\ndef test_b(throughput): throughput(slow(), duration=1.5, warmup=0)\ndef test_c(): pass"
    pytester.makepyfile(f"import time\n{SLOW}{tests}\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", detail]
    written = on_a_terminal(command, str(pytester.path))
    assert re.search(r"\rtest_b: \d+ samples, 1 s", written)
    shown = screen(written)
    assert not any("samples" in line for line in shown)
    begun = next(number for number, line in enumerate(shown) if re.match(r"test_progress\S*\.py|\.", line))
    ended = next(number for number, line in enumerate(shown) if "[100%]" in line)
    results = re.sub(r"test_progress\S*\.py(?=[ :])|\[.*", "", "\n".join(shown[begun : ended + 1])).split("\n")
    assert all(results), "no empty line"
    if detail == "-v":
        assert [line.strip() for line in results if "PASSED" in line] == [f"::test_{k} PASSED" for k in "abc"]
    else:
        assert "".join(results).replace(" ", "") == "..."


def screen(written: str) -> list[str]:
    """The lines that are left on an endless screen, without colours."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|[\s\S]", written):
        if part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part == "\x1b[A":
            row -= 1
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


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
