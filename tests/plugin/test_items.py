"""``pytest --ascend-env``: one item a declared precondition, first in the run, in every way pytest can be called."""

from __future__ import annotations

import sys

import pytest

from pytest_ascendenv.checks import HOST_CHECKS

REQUIRE_FINE = ("--ascend-env", "--ascend-env-require", "fine")


def names(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


def test_item_in_directory_without_tests(project: pytest.Pytester) -> None:
    result = project.runpytest(*REQUIRE_FINE, "-v")
    result.stdout.fnmatch_lines(["ascend-env::fine PASSED*"])
    assert result.ret == 0


def test_items_come_first_in_the_order_of_declaration(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest(*REQUIRE_FINE, "--ascend-env-require", "broken", "--co", "-q")
    assert names(result) == ["ascend-env::fine", "ascend-env::broken", "test_a.py::test_a"]


@pytest.mark.parametrize("args", [["test_a.py"], ["."], ["test_a.py", "test_b.py"], ["test_a.py::test_a"]])
def test_explicit_paths_keep_the_items(project: pytest.Pytester, args: list[str]) -> None:
    project.makepyfile(test_a="def test_a(): pass", test_b="def test_b(): pass")
    result = project.runpytest(*REQUIRE_FINE, *args)
    result.assert_outcomes(passed=1 + (2 if args in (["."], ["test_a.py", "test_b.py"]) else 1))


def test_path_after_the_flag_is_a_path(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass", test_b="def test_b(): pass")
    result = project.runpytest("--ascend-env-require", "fine", "--ascend-env", "test_a.py")
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        (["-k", "fine"], 1),
        (["-k", "not fine"], 1),
        (["-k", "ascend-env"], 1),
        (["-m", "fine"], 1),
        (["-m", "ascend_env"], 1),
        (["-m", "not ascend_env"], 1),
        (["--deselect", "ascend-env::fine"], 1),
    ],
)
def test_selection_by_keyword_and_marker(project: pytest.Pytester, args: list[str], passed: int) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest(*REQUIRE_FINE, "--strict-markers", *args)
    result.assert_outcomes(passed=passed, deselected=1)


@pytest.mark.parametrize("name", ["ascend-env::fine", "ascend-env"])
def test_run_again_by_node_id(project: pytest.Pytester, name: str) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest(*REQUIRE_FINE, "-v", name)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["ascend-env::fine PASSED*"])


def test_node_id_as_shown_below_the_root(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    project.makeini("[pytest]")
    monkeypatch.chdir(project.mkdir("sub"))
    result = project.runpytest("--ascend-env-require", "broken")
    result.stdout.fnmatch_lines(["FAILED ../ascend-env::broken*"])
    project.runpytest(*REQUIRE_FINE, "-v", "../ascend-env::fine").assert_outcomes(passed=1)


def test_node_id_beside_a_file(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass", test_b="def test_b(): pass")
    result = project.runpytest(*REQUIRE_FINE, "--ascend-env-require", "broken", "ascend-env::fine", "test_a.py")
    result.assert_outcomes(passed=2)


def test_unknown_node_id_is_a_usage_error(project: pytest.Pytester) -> None:
    result = project.runpytest(*REQUIRE_FINE, "ascend-env::fin")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*ascend-env::fin: nothing of that name is declared; declared: fine"])


def test_node_id_without_the_flag_is_a_usage_error(project: pytest.Pytester) -> None:
    assert project.runpytest("ascend-env::fine").ret == 4


def test_exitfirst_stops_at_an_unmet_precondition(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    result = project.runpytest("--ascend-env-require", "broken", "-x")
    result.assert_outcomes(failed=1)


def test_last_failed_runs_the_failed_item_again(project: pytest.Pytester) -> None:
    project.makepyfile(test_a="def test_a(): pass")
    args = (*REQUIRE_FINE, "--ascend-env-require", "broken")
    project.runpytest(*args).assert_outcomes(passed=2, failed=1)
    result = project.runpytest(*args, "--lf", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["ascend-env::broken FAILED*"])


def test_junit_has_the_items_with_verdict_and_reason(project: pytest.Pytester) -> None:
    project.runpytest(*REQUIRE_FINE, "--ascend-env-require", "broken", "--junitxml=out.xml")
    xml = (project.path / "out.xml").read_text()
    assert 'classname="ascend-env" name="fine"' in xml
    assert 'name="broken.verdict" value="fail"' in xml
    assert "broken: expected a whole one, found a half one" in xml


@pytest.mark.parametrize("verdict", ["hidden", "crashing"])
def test_junit_shows_could_not_tell_as_an_error(project: pytest.Pytester, verdict: str) -> None:
    project.runpytest("--ascend-env-require", verdict, "--junitxml=out.xml")
    xml = (project.path / "out.xml").read_text()
    assert 'errors="1"' in xml
    assert f"{verdict}: could not tell" in xml


def test_item_of_a_precondition_whose_mark_needs_an_argument(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPU_AFFINITY_CONF", raising=False)
    result = pytester.runpytest("--ascend-env-require", "affinity_mode=off", "-m", "affinity_mode", "-v")
    result.stdout.fnmatch_lines(["ascend-env::affinity_mode PASSED*"])


def test_a_folder_called_ascend_env_is_a_folder(project: pytest.Pytester) -> None:
    folder = project.mkdir("ascend-env")
    (folder / "test_x.py").write_text("def test_x(): pass")
    result = project.runpytest(*REQUIRE_FINE, "ascend-env")
    result.assert_outcomes(passed=2)


def test_no_ascend_env_undoes_addopts(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--ascend-env-require broken")
    project.makepyfile(test_a="def test_a(): pass")
    project.runpytest("--no-ascend-env").assert_outcomes(passed=1)


def test_nothing_declared_runs_the_host_checks(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CPU_AFFINITY_CONF", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "MSRUN_CPU_LIST"):
        monkeypatch.delenv(variable, raising=False)
    result = pytester.runpytest("--ascend-env", "-v")
    result.stdout.fnmatch_lines(["ascend-env: nothing declared*"])
    result.stdout.fnmatch_lines([f"ascend-env::{name} PASSED*" for name in HOST_CHECKS])


def test_host_check_that_is_not_met(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    result = pytester.runpytest("--ascend-env", "-v")
    result.stdout.fnmatch_lines(["ascend-env::omp_binding FAILED*", "*OMP_PROC_BIND*environment*", "*fix*"])


def test_header_names_what_is_declared_and_where(project: pytest.Pytester) -> None:
    project.makefile(".toml", **{"ascend-env": "[require]\nfine = true\n"})
    result = project.runpytest("--ascend-env")
    result.stdout.fnmatch_lines(["ascend-env: fine (ascend-env.toml)"])


def test_notes_of_a_met_precondition_are_shown(project: pytest.Pytester) -> None:
    result = project.runpytest(*REQUIRE_FINE)
    result.stdout.fnmatch_lines(["*= ascend-env =*", "ascend-env::fine: handle with care"])


def test_outcomes(project: pytest.Pytester) -> None:
    args = [word for name in ("fine", "broken", "hidden", "crashing") for word in ("--ascend-env-require", name)]
    result = project.runpytest(*args)
    result.assert_outcomes(passed=1, failed=1, errors=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of ascend-env: hidden*",
            "hidden: could not tell: the tool does not answer",
            "*ERROR at setup of ascend-env: crashing*",
            "crashing: could not tell: RuntimeError: probe blew up (*conftest.py:*)",
            "*ascend-env: broken*",
            "broken: expected a whole one, found a half one",
            "*read*half: 0.5*/proc/half*",
            "*cause*it was cut",
            "*fix*glue it",
        ]
    )


def test_could_not_tell_is_skipped_by_setting(project: pytest.Pytester) -> None:
    project.makefile(".toml", **{"ascend-env": 'unknown = "skip"\n[require]\nhidden = true\n'})
    result = project.runpytest("--ascend-env", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*hidden: could not tell: the tool does not answer"])


def test_captured_host_is_judged_in_place_of_this_one(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CPU_AFFINITY_CONF", "2")
    captured = pytester.run(sys.executable, "-m", "pytest_ascendenv", "capture")
    pytester.path.joinpath("host.json").write_text("\n".join(captured.outlines))
    monkeypatch.delenv("CPU_AFFINITY_CONF")
    result = pytester.runpytest("--ascend-env-facts", "host.json", "--ascend-env-require", "affinity_mode=fine")
    result.assert_outcomes(passed=1)
    pytester.path.joinpath("bad.json").write_text('{"version": 9}')
    result = pytester.runpytest("--ascend-env-facts", "bad.json", "--ascend-env-require", "affinity_mode=fine")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ascend-env-facts bad.json: no captured host*"])


def test_skip_marks_that_a_hook_puts_on_everything(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items: item.add_marker(pytest.mark.skip(reason='not today'))\n"
    )
    pytester.runpytest("--ascend-env-require", "versions").assert_outcomes(skipped=1)


@pytest.mark.parametrize("result", ["None", "True", "exit(3)", "pytest.fail('no')"])
def test_own_check_that_breaks_its_contract_could_not_tell(pytester: pytest.Pytester, result: str) -> None:
    pytester.makeconftest(
        "import pytest\n"
        "class Own:\n"
        "    name, when = 'own', 'before'\n"
        "    def parse(self): return None\n"
        f"    def judge(self, wanted, env): return {result}\n"
        "def pytest_ascend_env_checks(config): return [Own()]\n"
    )
    result = pytester.runpytest("--ascend-env-gate", "--ascend-env-require", "own")
    result.assert_outcomes(errors=1)
    assert result.ret == 78


def test_own_check_without_its_parts_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_ascend_env_checks(config): return ['own']\n")
    result = pytester.runpytest()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*gave 'own', which has no name, when, parse, judge*"])
