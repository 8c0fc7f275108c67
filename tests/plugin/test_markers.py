"""Marks on tests: enforced with ``--ascend-env``, skipped without, the closest wins, mistakes are collection errors."""

from __future__ import annotations

import pytest

from pytest_ascendenv.checks import HOST_CHECKS

DESELECTED = len(HOST_CHECKS)  # the items of a run that declares nothing


def test_marked_tests_are_skipped_without_the_flag(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\n@pytest.mark.broken\ndef test_a(): pass\ndef test_b(): pass")
    result = project.runpytest("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*needs --ascend-env"])


def test_met_and_unmet_marks(project: pytest.Pytester) -> None:
    project.makepyfile(
        "import pytest\n"
        "@pytest.mark.fine\ndef test_fine(): pass\n"
        "@pytest.mark.broken\ndef test_broken(): open('ran', 'w').close()\n"
    )
    result = project.runpytest("--ascend-env", "-m", "not ascend_env")
    result.assert_outcomes(passed=1, failed=1, deselected=DESELECTED)
    result.stdout.fnmatch_lines(["broken: expected a whole one, found a half one"])
    assert not (project.path / "ran").exists(), "the host is judged before the body"


@pytest.mark.parametrize("name", ["hidden", "crashing"])
def test_could_not_tell_is_an_error(project: pytest.Pytester, name: str) -> None:
    project.makepyfile(f"import pytest\n@pytest.mark.{name}\ndef test_a(): pass")
    result = project.runpytest("--ascend-env", "-m", "not ascend_env")
    result.assert_outcomes(errors=1, deselected=DESELECTED)


def test_all_unmet_marks_of_a_test_are_told(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\n@pytest.mark.broken\n@pytest.mark.hidden\ndef test_a(): pass")
    result = project.runpytest("--ascend-env", "-m", "not ascend_env")
    result.assert_outcomes(failed=1, deselected=DESELECTED)
    result.stdout.fnmatch_lines(["2 preconditions not met: *", "*found a half one", "*the tool does not answer"])


PRECEDENCE = """
import pytest
pytestmark = pytest.mark.affinity_mode("fine")

class Base:
    pytestmark = pytest.mark.affinity_mode("coarse")

class TestDerived(Base):
    pytestmark = pytest.mark.affinity_mode("off")
    def test_derived_class_wins_over_base(self): pass
    @pytest.mark.affinity_mode("fine")
    def test_function_wins_over_class(self): pass
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.affinity_mode("off"))])
    @pytest.mark.affinity_mode("fine")
    def test_param_wins_over_function(self, x): pass

@pytest.mark.affinity_mode(None)
def test_none_drops_the_module(): pass

def test_module(): pass
"""


def test_closest_mark_wins(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CPU_AFFINITY_CONF", raising=False)
    pytester.makepyfile(PRECEDENCE)
    result = pytester.runpytest("--ascend-env", "-m", "not ascend_env", "-v")
    result.stdout.fnmatch_lines(
        [
            "*test_derived_class_wins_over_base PASSED*",
            "*test_function_wins_over_class FAILED*",
            "*test_param_wins_over_function* PASSED*",
            "*test_none_drops_the_module PASSED*",
            "*test_module FAILED*",
        ]
    )


BAD = """
import pytest
@pytest.mark.affinity_mode("quick")
def test_a(): pass
@pytest.mark.affinity_mode()
def test_b(): pass
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.broken("bad"))])
def test_c(x): pass
class TestD:
    @pytest.mark.affinity_mode("off", 2)
    def test_d(self): pass
"""


@pytest.mark.parametrize("flags", [[], ["--ascend-env"]])
def test_bad_marks_are_one_collection_error_that_lists_all(project: pytest.Pytester, flags: list[str]) -> None:
    project.makepyfile(test_bad=BAD)
    result = project.runpytest(*flags)
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [
            "test_bad.py::test_a: @pytest.mark.affinity_mode('quick'): *",
            "test_bad.py::test_b: @pytest.mark.affinity_mode: missing a required argument: 'mode'*",
            "test_bad.py::test_c[[]1[]]: @pytest.mark.broken('bad'): found 'bad', allowed: anything else",
            "test_bad.py::TestD::test_d: @pytest.mark.affinity_mode('off', 2): too many positional arguments; *",
        ],
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_mark_of_the_plugins_own_items_is_refused_on_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.ascend_env\ndef test_a(): pass")
    result = pytester.runpytest()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*on tests stand: affinity_mode, *"])


def test_bad_mark_that_a_hook_adds_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items: item.add_marker(pytest.mark.amp_level('O9'))\n"
    )
    pytester.makepyfile("def test_a(): pass")
    result = pytester.runpytest("--ascend-env", "-m", "not ascend_env")
    result.assert_outcomes(errors=1, deselected=DESELECTED)
    result.stdout.fnmatch_lines(["@pytest.mark.amp_level('O9'): *"])


def test_bad_mark_on_a_module_is_told_once(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\npytestmark = pytest.mark.broken('bad')\ndef test_a(): pass\ndef test_b(): pass")
    result = project.runpytest()
    result.stdout.fnmatch_lines(["*test_a (and 1 more): @pytest.mark.broken('bad'): *"])


def test_skip_by_setting_reaches_marked_tests(project: pytest.Pytester) -> None:
    project.makefile(".toml", **{"ascend-env": 'unknown = "skip"\n[require]\nfine = true\n'})
    project.makepyfile("import pytest\n@pytest.mark.hidden\ndef test_a(): pass")
    project.runpytest("--ascend-env").assert_outcomes(passed=1, skipped=1)


def test_fixture_may_prepare_the_host(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CPU_AFFINITY_CONF", raising=False)
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.fixture\ndef bound(monkeypatch): monkeypatch.setenv('CPU_AFFINITY_CONF', '1')\n"
        "@pytest.mark.affinity_mode('coarse')\ndef test_a(bound): pass\n"
    )
    pytester.runpytest("--ascend-env", "-m", "not ascend_env").assert_outcomes(passed=1, deselected=DESELECTED)


def test_xfail_of_an_unmet_mark(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\n@pytest.mark.xfail(strict=True)\n@pytest.mark.broken\ndef test_a(): pass")
    project.runpytest("--ascend-env", "-m", "not ascend_env").assert_outcomes(xfailed=1, deselected=DESELECTED)


def test_markers_explain_themselves(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--markers")
    result.stdout.fnmatch_lines_random(
        [f"@pytest.mark.{name}*:*" for name in ("affinity_mode(mode)", "amp_level(level)", "min_throughput(rate)")]
    )


def test_fixtures_explain_themselves(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--fixtures")
    result.stdout.fnmatch_lines_random(
        ["ascend_env*", "*Facts of this host*", "throughput*", "*Run a short piece of a data pipeline*"]
    )
