"""``--ascend-env-gate``: no test runs while one declared precondition is not met."""

from __future__ import annotations

import pytest

IMPORTED = "open('imported', 'w').close()\ndef test_a(): pass"


def gate(*names: str) -> list[str]:
    return ["--ascend-env-gate", *(word for name in names for word in ("--ascend-env-require", name))]


def test_open_gate_runs_everything(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest(*gate("fine"))
    result.assert_outcomes(passed=2)
    assert result.ret == 0


@pytest.mark.parametrize(("name", "outcome"), [("broken", "failed"), ("hidden", "errors"), ("crashing", "errors")])
def test_closed_gate_imports_and_runs_no_test(project: pytest.Pytester, name: str, outcome: str) -> None:
    project.makepyfile(test_a=IMPORTED)
    result = project.runpytest(*gate("fine", name))
    result.assert_outcomes(passed=1, **{outcome: 1})
    assert result.ret == 78
    assert not (project.path / "imported").exists()
    result.stdout.fnmatch_lines(["*ascend-env: 1 of 2 preconditions not met, no test was run*"])


def test_closed_gate_prints_the_finding_and_writes_junit(project: pytest.Pytester) -> None:
    result = project.runpytest(*gate("fine", "broken"), "--junitxml=out.xml")
    result.stdout.fnmatch_lines(["broken: expected a whole one, found a half one", "*fix*glue it"])
    xml = (project.path / "out.xml").read_text()
    assert xml.count("<testcase") == 2


@pytest.mark.parametrize(
    "selection", [["-k", "nothing_like_it"], ["test_a.py"], ["-x"], ["--maxfail=1"], ["-p", "no:terminal"]]
)
def test_no_selection_opens_the_gate(project: pytest.Pytester, selection: list[str]) -> None:
    project.makepyfile(test_a=IMPORTED)
    result = project.runpytest(*gate("broken"), *selection)
    assert result.ret == 78
    assert not (project.path / "imported").exists()


def test_collect_only_lists_and_runs_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest(*gate("broken"), "--co", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ascend-env::broken", "test_a.py::test_a"])


def test_gate_with_nothing_declared_is_a_usage_error(project: pytest.Pytester) -> None:
    result = project.runpytest("--ascend-env-gate")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ascend-env-gate, but no precondition is declared*"])


def test_waived_failure_opens_the_gate_and_stays_visible(project: pytest.Pytester) -> None:
    waiver = '[[waive]]\nprecondition = "broken"\nreason = "disk arrives"\nowner = "data team"\nuntil = 2999-01-31\n'
    project.makefile(".toml", **{"ascend-env": f"[require]\nbroken = true\n{waiver}"})
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest("--ascend-env-gate", "-rx")
    result.assert_outcomes(passed=1, xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL ascend-env::broken*waived by data team until 2999-01-31: disk arrives*"])


def test_expired_waiver_counts_no_more(project: pytest.Pytester) -> None:
    waiver = '[[waive]]\nprecondition = "broken"\nreason = "disk arrives"\nuntil = 2001-01-31\n'
    project.makefile(".toml", **{"ascend-env": f"[require]\nbroken = true\n{waiver}"})
    assert project.runpytest("--ascend-env-gate").ret == 78


def test_gate_skips_what_cannot_be_told_by_setting(project: pytest.Pytester) -> None:
    project.makefile(".toml", **{"ascend-env": 'unknown = "skip"\n[require]\nhidden = true\n'})
    project.runpytest("--ascend-env-gate").assert_outcomes(skipped=1)
