"""``facts --program``: what people and scripts are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from captures import HERE

from pytest_ascendenv.training import command

NAMES = {
    "execution_mode",
    "device_target",
    "jit_level",
    "amp_level",
    "keep_batchnorm_fp32",
    "loss_scale",
    "sink_mode",
    "sink_in_effect",
    "sink_size",
    "epochs",
    "batch_size",
    "ranks",
    "training_call",
}

pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")


def test_json_has_every_name_with_status_and_source(captured: Any) -> None:
    found = json.loads(json.dumps(command.as_dict(captured("blog.py"))))
    assert set(found) == {"facts", "dataset", "notes"}
    assert set(found["facts"]) >= NAMES
    assert all(set(fact) == {"status", "value", "source", "reason"} for fact in found["facts"].values())
    assert {fact["status"] for fact in found["facts"].values()} <= {"known", "unset", "unknown"}
    lines = (HERE / "blog.py").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("model.train("))
    assert found["facts"]["sink_mode"] == {"status": "known", "value": True, "source": f"blog.py:{line}", "reason": ""}
    assert found["dataset"][0] == {
        "kind": "GeneratorDataset",
        "workers": 8,
        "workers_source": "own",
        "python": True,
        "functions": ["Source"],
        "multiprocessing": True,
        "paths": [],
    }


def test_every_program_has_every_name(captured: Any) -> None:
    for name in ("functional_graph.py", "data_sink.py", "cell_subclass.py", "mindyolo_style.py"):
        assert set(command.as_dict(captured(name))["facts"]) >= NAMES


def test_what_no_line_of_the_program_set_is_unset(captured: Any) -> None:
    def fact(name: str, program: str) -> dict[str, Any]:
        found: dict[str, Any] = command.as_dict(captured(program))["facts"][name]
        return found

    mode = fact("execution_mode", "defaults.py")
    assert (mode["status"], mode["value"]) == ("unset", "PYNATIVE_MODE")
    assert mode["source"].startswith("defaults.py:")
    mode = fact("execution_mode", "sets_pynative.py")
    assert (mode["status"], mode["source"]) == ("known", "sets_pynative.py:4")
    loop = [fact(name, "sets_pynative.py") for name in ("sink_mode", "sink_size", "sink_in_effect")]
    assert [(one["status"], one["value"]) for one in loop] == [("unset", False), ("unset", None), ("known", False)]
    assert loop[0]["reason"] == "a hand-written loop has no such argument"
    assert fact("sink_mode", "dataset_helper.py")["status"] == "known"


def test_a_generator_goes_by_the_name_the_user_gave_it(captured: Any) -> None:
    source = command.as_dict(captured("sets_pynative.py"))["dataset"][0]
    assert (source["functions"], source["workers"]) == (["rows"], 1)


def test_the_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--program", "defaults.py", "--cwd", str(HERE)]
    assert command.main(words) == 0
    text = capsys.readouterr().out
    assert "execution_mode: not set, so PYNATIVE_MODE" in text
    assert "sink_mode: not set, so False" in text
    assert "GeneratorDataset (Images): 1 workers (default), Python" in text
    assert command.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["sink_mode"]["status"] == "unset"


def test_a_program_that_does_not_train_and_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--program", "exits.py", "--cwd", str(HERE)]) == 1
    assert "could not tell: exits.py: called sys.exit(3)" in capsys.readouterr().err
    assert command.main(["--program", "exits.py", "--cwd", str(HERE), "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "called sys.exit(3)" in printed.err
    assert (set(found), set(found["facts"]), found["dataset"]) == ({"facts", "dataset", "notes"}, NAMES, [])
    assert {fact["status"] for fact in found["facts"].values()} == {"unknown"}
    assert all("called sys.exit(3)" in text for text in (*found["notes"], found["facts"]["sink_mode"]["reason"]))
    assert command.main([]) == 4
    assert command.main(["--no-such-option"]) == 4


@pytest.mark.parametrize(("name", "code"), [("defaults.py", 0), ("exits.py", 1)])
def test_a_reader_who_leaves_early_is_no_error(name: str, code: int) -> None:
    words = [sys.executable, "-m", "pytest_ascendenv", "facts", "--program", name, "--cwd", str(HERE), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(writer)
    assert (ended.returncode, "Traceback" in ended.stderr, "BrokenPipe" in ended.stderr) == (code, False, False)
