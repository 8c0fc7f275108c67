"""The same under xdist: items, the gate, usage errors, bad marks."""

from __future__ import annotations

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed")

N2 = ("-n2", "-p", "no:cacheprovider")


def test_items_run_once(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest_subprocess(*N2, "--ascend-env-require", "fine", "--ascend-env-require", "broken")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["ascend-env::fine: handle with care"])


def test_node_id(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    args = ("--ascend-env-require", "fine", "--ascend-env-require", "broken", "ascend-env::fine")
    project.runpytest_subprocess(*N2, *args).assert_outcomes(passed=1)


def test_closed_gate(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): open('ran', 'w').close()")
    result = project.runpytest_subprocess(*N2, "--ascend-env-gate", "--ascend-env-require", "broken")
    assert result.ret == 78
    assert not (project.path / "ran").exists()


def test_usage_error_and_bad_marks(project: pytest.Pytester) -> None:
    assert project.runpytest_subprocess(*N2, "--ascend-env-require", "fien").ret == 4
    project.makepyfile("import pytest\n@pytest.mark.broken('bad')\ndef test_a(): pass")
    result = project.runpytest_subprocess(*N2)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*@pytest.mark.broken('bad'): found 'bad'*"])
