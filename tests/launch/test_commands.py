"""``facts`` and ``diff`` as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ascendenv.launch import command, diff_command
from pytest_ascendenv.launch.tables import FACTS

INCIDENT = Path(__file__).parents[2] / "examples" / "incident"


def test_facts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "export CPU_AFFINITY_CONF=1\nexport HF_TOKEN=abc\ntorchrun --nnodes $N x.py --api-key s3cret --a $(cat b)\n"
    )
    (tmp_path / "run.sh").write_text(script)
    assert command.main(["--launch", "run.sh", "--cwd", str(tmp_path), "--env", "N=2", "--json"]) == 0
    printed = capsys.readouterr().out
    assert "abc" not in printed
    assert "s3cret" not in printed
    found = json.loads(printed)
    launch = found["launches"][0]
    assert (launch["launcher"], launch["program"], launch["condition"]) == ("torchrun", "x.py", "")
    assert launch["env"]["CPU_AFFINITY_CONF"] == {"status": "known", "value": "1", "source": "run.sh:1", "reason": ""}
    assert launch["argv"][-1]["status"] == "unknown"
    assert "cat b" in launch["argv"][-1]["reason"]
    assert tuple(launch["facts"]) == FACTS
    assert launch["facts"]["nodes"]["value"] == 2


def test_facts_of_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("runner_config:\n  sink_mode: False\n")
    assert command.main(["--config", "c.yaml", "--cwd", str(tmp_path)]) == 0
    assert "sink_mode: False  [c.yaml:2 runner_config.sink_mode]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [[], ["--launch", "nowhere.sh"], ["--config", "no.yaml"], ["--launch", "x", "--env", "A"]]
)
def test_wrong_use(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 4
    assert "error:" in capsys.readouterr().err


def test_the_affinity_line_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff_command.main(["finetune_32b.sh", "finetune_72b.sh", "--cwd", str(INCIDENT)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:5] == [
        "affinity    <- launch_rules, affinity_mode",
        "  1  [finetune_32b.sh:9]",
        "  2  [finetune_72b.sh:9]",
    ]


def test_a_script_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff_command.main(["finetune_32b.sh", "finetune_32b.sh", "--cwd", str(INCIDENT)]) == 0
    assert "no fact differs" in capsys.readouterr().out


def test_a_written_default_is_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.sh").write_text("torchrun pretrain_gpt.py --use-mcore-models --num-workers 2")
    (tmp_path / "b.sh").write_text("torchrun pretrain_gpt.py --use-mcore-models")
    assert diff_command.main(["a.sh", "b.sh", "--cwd", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_nothing_to_read_is_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--launch", "nowhere.sh", "--cwd", str(tmp_path), "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["launches"] == []
    assert "nowhere.sh" in found["notes"][0]


def test_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "run.sh").write_text("torchrun x.py\n" * 400)
    words = [sys.executable, "-m", "pytest_ascendenv", "facts", "--launch", "run.sh", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
