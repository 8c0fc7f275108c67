"""Unmodified programs, run up to their first training call on real MindSpore in a child."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from captures import HERE

from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.pipeline import leftovers
from pytest_ascendenv.training.capture import capture
from pytest_ascendenv.verdict import Unknown

pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")

GRAPH, PYNATIVE = "GRAPH_MODE", "PYNATIVE_MODE"


def operations(call: Any) -> list[str]:
    """``MapDataset:8:C++`` and so on."""
    python = {True: "Python", False: "C++", None: "?"}
    return [f"{one.kind.removesuffix('Dataset')}:{one.workers}:{python[one.python]}" for one in call.operations]


PROGRAMS: dict[str, dict[str, Any]] = {
    "blog.py": {
        "execution_mode": GRAPH,
        "device_target": "Ascend",
        "amp_level": "O2",
        "loss_scale": "DynamicLossScaleManager",
        "sink_mode": True,
        "sink_in_effect": True,
        "epochs": 10,
        "batch_size": 32,
        "training_call": "Model.train",
        "callbacks": ["LossMonitor"],
        "operations": ["Generator:8:Python", "Map:8:C++", "Map:8:C++", "Batch:8:C++"],
    },
    "defaults.py": {
        "execution_mode": PYNATIVE,
        "amp_level": "O0",
        "sink_mode": False,
        "sink_in_effect": False,
        "device_target": None,
        "ranks": 1,
        "loss_scale": None,
    },
    "mindcv_style.py --config mindcv.yaml": {
        "execution_mode": GRAPH,
        "amp_level": "O2",
        "loss_scale": "FixedLossScaleManager(1024, drop_overflow_update=False)",
        "sink_mode": True,
        "epochs": 90,
        "batch_size": 4,
        "ranks": 8,
        "callbacks": ["LossMonitor", "TimeMonitor"],
        "operations": ["Generator:1:Python", "Map:6:C++", "Map:6:Python", "Batch:6:C++"],
    },
    "mindyolo_style.py": {
        "execution_mode": PYNATIVE,
        "amp_level": "O2",
        "loss_scale": "StaticLossScaler",
        "sink_mode": False,
        "training_call": "@jit create_train_step_fn.jit_warpper",
        "operations": ["Generator:2:Python", "Batch:8:C++"],
    },
    "data_sink.py": {
        "execution_mode": GRAPH,
        "amp_level": "O3",
        "sink_mode": True,
        "sink_size": 4,
        "training_call": "data_sink",
    },
    "data_sink_pynative.py": {
        "execution_mode": PYNATIVE,
        "sink_mode": True,
        "sink_in_effect": True,
        "sink_size": 4,
        "training_call": "data_sink",
    },
    "data_sink_forward_only.py": {"execution_mode": PYNATIVE, "sink_in_effect": True, "training_call": "data_sink"},
    "mindocr_style.py --config mindocr.yaml": {
        "execution_mode": GRAPH,
        "device_target": "Ascend",
        "amp_level": "O2",
        "sink_mode": False,
        "epochs": 20,
        "operations": ["Generator:12:Python", "Map:12:Python", "Batch:8:C++"],
    },
    "mindformers_style.py --config mindformers.yaml": {
        "execution_mode": GRAPH,
        "jit_level": "O1",
        "amp_level": "O3",
        "sink_mode": True,
        "sink_size": 2,
        "ranks": 8,
        "epochs": 2,
    },
    "functional_pynative.py": {
        "execution_mode": PYNATIVE,
        "amp_level": "O0",
        "sink_mode": False,
        "batch_size": 16,
        "training_call": "the gradient of forward_fn",
        "operations": ["Generator:1:Python", "Batch:8:C++"],
    },
    "functional_graph.py": {
        "execution_mode": GRAPH,
        "jit_level": "O0",
        "amp_level": "O2",
        "loss_scale": "DynamicLossScaler",
        "training_call": "the gradient of forward_fn",
    },
    "jit_forward_only.py": {"execution_mode": PYNATIVE, "amp_level": "O0", "training_call": "the gradient of <lambda>"},
    "cell_subclass.py": {"execution_mode": GRAPH, "amp_level": "O3", "training_call": "TrainStep", "batch_size": 8},
    "own_step_cell.py": {"execution_mode": PYNATIVE, "amp_level": "O0", "training_call": "Step"},
    "model_subclass.py": {"execution_mode": GRAPH, "amp_level": "O3", "sink_mode": False, "epochs": 5},
    "late_import.py": {"execution_mode": PYNATIVE, "sink_mode": True, "sink_in_effect": False, "epochs": 4},
    "thread.py": {"execution_mode": GRAPH, "sink_mode": True, "sink_size": 7, "training_call": "Model.train"},
    "set_after_build.py": {
        "execution_mode": PYNATIVE,
        "amp_level": "O3",
        "keep_batchnorm_fp32": False,
        "sink_in_effect": False,
    },
    "twice.py": {"execution_mode": GRAPH, "sink_mode": True},
    "many_workers.py": {"operations": ["Generator:400:Python", "Map:300:Python", "Batch:500:C++"]},
    "device_branch.py": {"execution_mode": GRAPH, "amp_level": "O2", "sink_mode": True, "device_target": None},
    "on_cpu.py": {"execution_mode": GRAPH, "device_target": "CPU", "sink_mode": True, "sink_in_effect": False},
    "model_build.py": {"amp_level": "auto", "device_target": "Ascend", "sink_mode": True, "epochs": 2},
    "dataset_helper.py": {
        "execution_mode": GRAPH,
        "sink_mode": False,
        "training_call": "TrainOneStepCell",
        "operations": ["Generator:1:Python", "Batch:8:C++"],
    },
    "mindrecord.py {folder}": {"operations": ["Mind:4:C++", "Batch:8:C++"]},
    "image_folder.py {folder}": {"operations": ["ImageFolder:8:C++", "Map:8:Python", "Batch:8:C++"]},
    "zipped.py": {
        "operations": ["Generator:1:Python", "NumpySlices:1:C++", "Zip:8:C++", "Batch:8:C++", "Repeat:8:C++"]
    },
    "catches_everything.py": {"training_call": "Model.train"},
    "forks.py": {"epochs": 6},
    "deletes_arguments.py 3": {"epochs": 3},
    "starts_ranks.py": {"ranks": 8},
    "spawns.py": {"epochs": 9},
    "worker_processes.py": {"operations": ["Generator:2:Python", "Map:2:Python", "Batch:8:C++"]},
    "-m package": {"epochs": 3},
}


@pytest.mark.parametrize("command", PROGRAMS)
def test_a_program_up_to_its_first_training_call(captured: Any, command: str) -> None:
    wanted = dict(PROGRAMS[command])
    (call,) = captured(command).observation.calls
    if "operations" in wanted:
        assert operations(call) == wanted.pop("operations")
    assert {name: call.facts[name].value for name in wanted} == wanted


def test_each_fact_says_where_it_was_set(captured: Any) -> None:
    (call,) = captured("blog.py").observation.calls
    lines = (HERE / "blog.py").read_text().splitlines()
    for name, text in {
        "execution_mode": "set_context",
        "amp_level": "model = Model(",
        "sink_mode": "model.train(",
    }.items():
        file, _, line = call.facts[name].source.rpartition(":")
        assert (file, text in lines[int(line) - 1]) == ("blog.py", True), call.facts[name]


def test_what_the_program_printed_before_and_nothing_after(captured: Any) -> None:
    program = captured("functional_pynative.py")
    assert "a step was made" not in program.output
    assert "caught" not in captured("catches_everything.py").output
    assert not (HERE / "finally.ckpt").exists()


def test_files_and_folders_that_are_read(captured: Any) -> None:
    assert captured("image_folder.py {folder}").data_paths[0].endswith("/imagenet/train")
    assert captured("mindrecord.py {folder}").data_paths[0].endswith("/train.mindrecord")


def test_what_this_machine_cannot_do_is_said(captured: Any) -> None:
    notes = captured("many_workers.py").observation.notes
    assert any("workers were clamped to" in note for note in notes)
    assert any("Model.build at model_build.py:8" in note for note in captured("model_build.py").observation.notes)
    call = captured("mindcv_style.py --config mindcv.yaml").observation.calls[0]
    assert call.facts["ranks"].source == "settings: ranks"


def judged(captured: Any, name: str, command: str, *args: Any) -> Any:
    from pytest_ascendenv import checks

    class Env(AscendEnv):
        program = captured(command)

    env = Env(declared=Declared(program=command))
    check = checks.load(name)
    return check.judge(check.parse(*args), env)


def test_the_checks_judge_the_declared_program(captured: Any) -> None:
    for name, args in (("graph_mode", ()), ("amp_level", ("O2",)), ("sink_mode", ())):
        finding = judged(captured, name, "blog.py", *args)
        assert (finding.verdict.value, finding.subject) == ("pass", "blog.py")
        assert any("captured on a CPU" in note for note in finding.notes)
    finding = judged(captured, "sink_mode", "late_import.py")
    assert finding.verdict.value == "fail"
    assert "void" in finding.cause
    assert judged(captured, "graph_mode", "mindyolo_style.py").verdict.value == "pass"
    finding = judged(captured, "graph_mode", "jit_forward_only.py")
    assert (finding.verdict.value, "Net.construct" in finding.found) == ("fail", True)
    assert "400" in judged(captured, "min_workers", "many_workers.py", 301).evidence[0].value
    assert judged(captured, "min_workers", "many_workers.py", 301).verdict.value == "fail"


def test_data_sink_acts_under_pynative_and_a_jitted_step_is_a_graph(captured: Any) -> None:
    for name in ("sink_mode", "graph_mode", "program_rules"):
        finding = judged(captured, name, "data_sink_pynative.py")
        assert finding.verdict.value == "pass", finding
        assert not any("compiles only" in note for note in finding.notes)
    finding = judged(captured, "graph_mode", "data_sink_forward_only.py")
    assert (finding.verdict.value, "@jit covers forward alone" in finding.cause) == ("fail", True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("exits.py", ["called sys.exit(3)", "exits.py:8", "| no data found"]),
        ("raises.py", ["raised ValueError: The folder /no/such/place", "raises.py:5"]),
        ("ends.py", ["came to its end", "ends.py:4", "| nothing to do"]),
        ("hangs.py", ["no training call in 2 s", "hangs.py:6", "| waiting for rank 1"]),
        ("crashes.py", ["Segmentation fault", "crashes.py:5"]),
        ("leaves_at_once.py", ["called os._exit(5)", "leaves_at_once.py:3"]),
        ("python3.11 -u -W ignore ends.py", ["came to its end", "ends.py:4", "| nothing to do"]),
        ("python -I ends.py", ["-I before the file is not understood", "allowed are -u"]),
        ("no_such_program.py", ["there is no file no_such_program.py"]),
        ("sh train.sh", ["there is no file sh", "a launch script goes into launch"]),
    ],
)
def test_a_program_that_does_not_train(captured: Any, command: str, words: list[str]) -> None:
    with pytest.raises(Unknown) as reason:
        captured(command)
    assert all(word in str(reason.value) for word in words), str(reason.value)


def test_the_python_it_was_run_with_is_said_where_another_one_is_named(captured: Any) -> None:
    notes = captured("/opt/other/bin/python3 blog.py").observation.notes
    assert any(sys.executable in note and "not with /opt/other/bin/python3" in note for note in notes)
    assert not any("run with" in note for note in captured("blog.py").observation.notes)


def test_an_unknown_program_is_run_once_and_never_passes() -> None:
    env = AscendEnv(declared=Declared(program=str(HERE / "exits.py"), capture_timeout=60))
    reasons = []
    for _ in range(2):
        with pytest.raises(Unknown) as reason:
            _ = env.program
        reasons.append(str(reason.value))
    assert reasons[0] == reasons[1]
    assert "sys.exit(3)" in reasons[0]


def test_without_a_program_nothing_can_be_told() -> None:
    with pytest.raises(Unknown, match="no program is declared"):
        _ = AscendEnv().program


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = leftovers.inventory()
    mark = "ASCENDENV_TEST_MARK"
    capture("worker_processes.py", folder=HERE, environ={**os.environ, mark: str(tmp_path), "TMPDIR": str(tmp_path)})
    with pytest.raises(Unknown):
        capture("hangs.py", folder=HERE, seconds=0.5, environ={**os.environ, mark: str(tmp_path)})
    assert not _with_environment(f"{mark}={tmp_path}")
    assert not _orphans(before)


def _orphans(before: leftovers.Inventory) -> set[str]:
    """Shared memory that nobody uses any more; other tests of this machine may hold some of their own."""
    living = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    files = leftovers.inventory().files - before.files - leftovers.mapped(living)
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    segments = {row[1] for row in rows if int(row[1]) not in before.ids["shm"] and int(row[4]) not in living}
    return files | segments


def _with_environment(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_an_interrupt_ends_the_program(tmp_path: Path) -> None:
    import signal
    import subprocess

    mark = f"ASCENDENV_TEST_MARK={tmp_path}"
    script = """import sys, pathlib, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
from pytest_ascendenv.training.capture import capture
capture("hangs.py", folder=pathlib.Path(sys.argv[1]))"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(HERE)],
        env={**os.environ, "ASCENDENV_TEST_MARK": str(tmp_path), "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while len(_with_environment(mark)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(_with_environment(mark)) == 2
    parent.send_signal(signal.SIGINT)
    parent.wait(30)
    assert not _with_environment(mark)
    assert list(tmp_path.iterdir()) == []
