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


def test_the_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--program", "defaults.py", "--cwd", str(HERE)]
    assert command.main(words) == 0
    text = capsys.readouterr().out
    assert "execution_mode: PYNATIVE_MODE" in text
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
