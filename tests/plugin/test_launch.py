"""A declared launch script is what the preconditions judge; it is never executed."""

from __future__ import annotations

from pathlib import Path

import pytest

FINE = "touch executed\nexport CPU_AFFINITY_CONF=2\ntorchrun --nproc_per_node 8 train.py --data-path /dev/shm/x\n"


@pytest.fixture
def script(pytester: pytest.Pytester) -> Path:
    path = pytester.path / "finetune.sh"
    path.write_text(FINE)
    return path


def test_affinity_mode_speaks_of_the_script(pytester: pytest.Pytester, script: Path) -> None:
    result = pytester.runpytest(
        "--ascend-env-launch", "finetune.sh", "--ascend-env-require", "affinity_mode=coarse", "-v"
    )
    result.stdout.fnmatch_lines(["ascend-env::affinity_mode FAILED*", "*subject*finetune.sh*", "*finetune.sh:2*"])
    assert not (pytester.path / "executed").exists()


def test_rules_of_the_launch_run_beside_what_is_declared(pytester: pytest.Pytester, script: Path) -> None:
    result = pytester.runpytest("--ascend-env-launch", "finetune.sh", "--ascend-env-require", "versions", "--co", "-q")
    result.stdout.fnmatch_lines(["ascend-env::versions", "ascend-env::launch_rules"])


def test_rules_of_the_launch_can_be_dropped(pytester: pytest.Pytester, script: Path) -> None:
    pytester.makefile(
        ".toml", **{"ascend-env": 'launch = "finetune.sh"\n[require]\nversions = true\nlaunch_rules = false\n'}
    )
    result = pytester.runpytest("--ascend-env", "--co", "-q")
    result.stdout.no_fnmatch_line("*launch_rules*")


def test_script_of_the_settings_is_found_beside_them(pytester: pytest.Pytester) -> None:
    pytester.mkdir("job")
    pytester.path.joinpath("job", "finetune.sh").write_text(FINE)
    pytester.path.joinpath("job", "ascend-env.toml").write_text(
        'launch = "finetune.sh"\n[require]\naffinity_mode = 2\n'
    )
    result = pytester.runpytest("--ascend-env-config", "job/ascend-env.toml", "-v")
    result.stdout.fnmatch_lines(["ascend-env::affinity_mode PASSED*"])


def test_missing_script_could_not_be_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ascend-env-launch", "gone.sh", "--ascend-env-require", "affinity_mode=coarse")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["affinity_mode: could not tell: gone.sh*No such file*"])


def test_incident_is_caught_in_one_command(pytester: pytest.Pytester) -> None:
    pytester.copy_example("incident")
    result = pytester.runpytest("--ascend-env-gate")
    assert result.ret == 78
    result.stdout.fnmatch_lines(["launch_rules: *64 preprocessing workers are forked under CPU_AFFINITY_CONF=2"])


def test_against_prints_the_affinity_line_first(pytester: pytest.Pytester) -> None:
    pytester.copy_example("incident")
    args = ("--ascend-env-launch", "finetune_72b.sh", "--ascend-env-against", "finetune_32b.sh")
    result = pytester.runpytest("--ascend-env", *args)
    result.stdout.fnmatch_lines(
        [
            "finetune_72b.sh  against  finetune_32b.sh",
            "",
            "affinity*",
            "  2*finetune_72b.sh:9*",
            "  1*finetune_32b.sh:9*",
        ],
        consecutive=True,
    )


def test_against_without_a_launch_is_a_usage_error(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest("--ascend-env-against", "x.sh").ret == 4
