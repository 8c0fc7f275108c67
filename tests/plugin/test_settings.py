"""Settings from ascend-env.toml, [tool.ascend-env] and the command line; a mistake is exit code 4 with its place."""

from __future__ import annotations

import pytest


def toml(pytester: pytest.Pytester, text: str) -> None:
    pytester.makefile(".toml", **{"ascend-env": text})


def usage_error(result: pytest.RunResult, *lines: str) -> None:
    assert result.ret == 4
    result.stderr.fnmatch_lines(list(lines))
    result.stderr.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("file", ["ascend-env.toml", "pyproject.toml"])
def test_settings_file(project: pytest.Pytester, file: str) -> None:
    prefix = "tool.ascend-env." if file == "pyproject.toml" else ""
    (project.path / file).write_text(f"[{prefix}require]\nfine = true\nbroken = false\n")
    result = project.runpytest("--ascend-env", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"ascend-env: fine ({file})"])


def test_two_places_in_one_folder(project: pytest.Pytester) -> None:
    toml(project, "[require]\nfine = true\n")
    project.makepyprojecttoml("[tool.ascend-env.require]\nfine = true\n")
    usage_error(project.runpytest("--ascend-env"), "*pyproject.toml*ascend-env.toml both exist; keep one*")


def test_settings_beside_the_tests_that_are_asked_for(project: pytest.Pytester) -> None:
    folder = project.mkdir("sub")
    (folder / "ascend-env.toml").write_text("[require]\nfine = true\n")
    (folder / "test_x.py").write_text("def test_x(): pass")
    project.makeini("[pytest]")
    result = project.runpytest("--ascend-env", "sub")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["ascend-env: fine (sub/ascend-env.toml)"])


def test_command_line_overrides_and_adds(project: pytest.Pytester) -> None:
    toml(project, "[require]\nfine = true\nbroken = true\n")
    result = project.runpytest("--ascend-env-require", "broken=false", "--ascend-env-require", "hidden")
    result.assert_outcomes(passed=1, errors=1)


def test_config_option_names_the_file(project: pytest.Pytester) -> None:
    (project.path / "other.toml").write_text("[require]\nfine = true\n")
    project.runpytest("--ascend-env-config", "other.toml").assert_outcomes(passed=1)
    usage_error(
        project.runpytest("--ascend-env-config", "missing.toml"), "*missing.toml: cannot be read: No such file*"
    )


def test_profile_is_laid_over_the_rest(project: pytest.Pytester) -> None:
    toml(project, "[require]\nfine = true\nbroken = true\n[profile.quick.require]\nbroken = false\n")
    project.runpytest("--ascend-env").assert_outcomes(passed=1, failed=1)
    project.runpytest("--ascend-env", "--ascend-env-profile", "quick").assert_outcomes(passed=1)
    usage_error(
        project.runpytest("--ascend-env-profile", "quik"), "*no profile 'quik'; did you mean 'quick'?; known: quick*"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[require]\nfine = true\namp_levle = 'O2'\n",
            "*ascend-env.toml:3: *amp_levle = 'O2'*did you mean 'amp_level'?*known: *",
        ),
        ("[require]\nmin_workers = 'many'\n", "*ascend-env.toml:2: *min_workers = 'many'*"),
        ("[require]\nmin_workers = 0\n", "*ascend-env.toml:2: *min_workers = 0*"),
        ("[require]\nmin_throughput = -5\n", "*ascend-env.toml:2: *min_throughput = -5*"),
        ("[require]\namp_level = 'O7'\n", "*ascend-env.toml:2: *amp_level = 'O7'*O2*"),
        ("[require]\naffinity_mode = 'coarze'\n", "*ascend-env.toml:2: *affinity_mode = 'coarze'*coarse*"),
        ("[require]\namp_level = true\n", "*ascend-env.toml:2: *amp_level*missing a required argument*"),
        ("require = 3\n", "*ascend-env.toml:1: require must be a table*found 3*"),
        ("dat = ['/x']\n", "*ascend-env.toml:1: dat = *no such key; did you mean 'data'?; known: *"),
        ("data = '/x'\n", "*ascend-env.toml:1: data = '/x': expected array, got str*"),
        (
            "unknown = 'skp'\n",
            "*ascend-env.toml:1: unknown = 'skp': expected one of 'error', 'skip'; did you mean 'skip'?*",
        ),
        ("[require]\nfine = x\n", "*ascend-env.toml: not valid TOML: *line 2*"),
        ("[[waive]]\nprecondition = 'fine'\n", "*ascend-env.toml:1: waive entry 1: *missing required field reason*"),
        (
            "[[waive]]\nprecondition = 'fin'\nreason = 'x'\n",
            "*waive entry 1: no precondition 'fin'; did you mean 'fine'?*",
        ),
        ("profile = 1\n", "*ascend-env.toml:1: profile must hold tables*"),
    ],
)
def test_mistakes_name_file_line_key_and_what_is_allowed(project: pytest.Pytester, text: str, message: str) -> None:
    toml(project, text)
    usage_error(project.runpytest("--ascend-env"), message)


def test_all_mistakes_are_told_at_once(project: pytest.Pytester) -> None:
    toml(project, "dat = 1\n[require]\namp_level = 'O7'\n")
    usage_error(
        project.runpytest("--ascend-env-require", "fin"), "*:1: dat*", "*:3: *amp_level*", "*fin: no such precondition*"
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("amp_level=O7", "*--ascend-env-require: amp_level = 'O7'*"),
        ("min_workers=many", "*--ascend-env-require: min_workers = 'many'*"),
        ("", "*--ascend-env-require: *no such precondition*"),
    ],
)
def test_command_line_mistakes(pytester: pytest.Pytester, word: str, message: str) -> None:
    usage_error(pytester.runpytest("--ascend-env-require", word), message)


def test_settings_are_not_read_without_the_flag(project: pytest.Pytester) -> None:
    toml(project, "nonsense = 1\n")
    project.makepyfile("def test_a(): pass")
    project.runpytest().assert_outcomes(passed=1)


def test_data_option_replaces_the_settings(project: pytest.Pytester) -> None:
    toml(project, "data = ['/nowhere']\n[require]\nfine = true\n")
    project.makepyfile("def test_a(ascend_env): assert ascend_env.declared.data == ['/a', '/b']")
    project.runpytest("--ascend-env-data", "/a", "--ascend-env-data", "/b").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = ['']\n", "*ascend-env.toml:1: data = [[]''[]]: found an empty name*"),
        ("program = ' '\n", "*ascend-env.toml:1: program = ' ': found an empty name*"),
        ("ranks = -3\n", "*ascend-env.toml:1: ranks = -3: expected int*>= 1*"),
        ("capture_timeout = nan\n", "*ascend-env.toml:1: capture_timeout = nan: *"),
        (
            "[profile.p.reqire]\nx = 1\n",
            "*ascend-env.toml:1: profile.p.reqire = *no such key; did you mean 'require'?*",
        ),
        ("[profile.p.require]\namp_levl = 'O2'\n", "*ascend-env.toml:2: profile.p.require.amp_levl = 'O2': no such*"),
        ("[profile]\np = 3\n", "*ascend-env.toml:1: profile must hold tables*"),
    ],
)
def test_what_would_check_nothing_is_a_mistake(project: pytest.Pytester, text: str, message: str) -> None:
    toml(project, text)
    usage_error(project.runpytest("--ascend-env"), message)
    usage_error(project.runpytest("--ascend-env-profile", "p"), message)


@pytest.mark.parametrize("option", ["program", "profile", "launch", "config", "data", "facts"])
def test_empty_option_is_no_reason_to_check_nothing(project: pytest.Pytester, option: str) -> None:
    project.makepyfile("def test_a(): pass")
    usage_error(project.runpytest(f"--ascend-env-{option}", ""), f"*--ascend-env-{option} was given an empty value*")


def test_byte_order_mark(project: pytest.Pytester) -> None:
    (project.path / "ascend-env.toml").write_bytes(b"\xef\xbb\xbf[require]\nfine = true\n")
    project.runpytest("--ascend-env").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "args",
    [
        ["../proj/tests"],
        ["-c", "../proj/pytest.ini"],
        ["--rootdir", "../proj"],
        ["../link/tests"],
        ["../other", "../proj"],
    ],
)
def test_settings_are_found_from_elsewhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    for folder in ("proj/tests", "other"):
        (pytester.path / folder).mkdir(parents=True)
    (pytester.path / "proj" / "pytest.ini").write_text("[pytest]\n")
    (pytester.path / "proj" / "ascend-env.toml").write_text("[require]\nversions = true\n")
    (pytester.path / "proj" / "tests" / "test_a.py").write_text("def test_a(): pass")
    (pytester.path / "link").symlink_to("proj")
    monkeypatch.chdir(pytester.path / "other")
    result = pytester.runpytest("--ascend-env", "-p", "no:cacheprovider", *args)
    result.stdout.fnmatch_lines(["ascend-env: *(*ascend-env.toml)*"])
