"""What a captured program asks of an Ascend host, its threads and its other ranks, none of which are here."""

from __future__ import annotations

import inspect
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from captures import HERE

from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation
from pytest_ascendenv.training.shims import Shims

pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")

ASKED: dict[str, dict[str, Any]] = {
    "asks_by_name.py": {"execution_mode": "GRAPH_MODE", "device_target": "Ascend", "num_parallel_workers": 6},
    "parallel.py": {"ranks": 4, "amp_level": "O2", "sink_mode": True, "loss_scale": "DynamicLossScaleManager"},
    "numpy_names.py {folder}": {"batch_size": 8},
    "loads_workers.py {folder}": {"num_parallel_workers": 300},
    "waits_for_others.py": {"ranks": 8},
    "waits_in_place.py mindspore.mint.distributed": {"ranks": 8},
    "waits_in_place.py mindspore.ops.communication": {"ranks": 8},
}


@pytest.mark.parametrize("command", ASKED)
def test_what_is_asked_of_ascend_is_let_pass_and_kept(captured: Any, command: str) -> None:
    (call,) = captured(command).observation.calls
    assert call.function == "Model.train"
    assert {name: call.facts[name].value for name in ASKED[command]} == ASKED[command]


def lines(notes: list[str], file: str) -> list[str]:
    return [note for note in notes if file in note]


def test_what_was_answered_without_the_other_ranks_is_said(captured: Any) -> None:
    notes = captured("waits_for_others.py").observation.notes
    assert {note.partition("(")[0] for note in lines(notes, "waits_for_others.py:")} == {
        "init",
        "barrier",
        "all_reduce",
        "all_gather_into_tensor",
        "broadcast",
    }
    in_place = captured("waits_in_place.py mindspore.mint.distributed").observation
    assert any(note.startswith("barrier() at waits_in_place.py:") for note in in_place.notes)
    assert in_place.calls[0].facts["ranks"].source.startswith("waits_in_place.py:")  # world_size=8 is written there


def test_files_held_by_numpy_are_plain_text(captured: Any) -> None:
    program = captured("numpy_names.py {folder}")
    assert [Path(path).name for path in program.data_paths] == ["numpy"]
    files = program.observation.calls[0].operations[0].files
    assert (files.count, files.mean, type(files.where)) == (32, 8, str)


# -- workers -----------------------------------------------------------------------------------------------------------


def workers(captured: Any, command: str) -> list[tuple[int, str]]:
    (call,) = captured(command).observation.calls
    return [(one.workers, one.workers_source) for one in call.operations]


@pytest.mark.parametrize("command", ["default_workers.py", "defaults.py", "on_cpu.py", "loads_workers.py {folder}"])
def test_the_default_is_that_of_the_host_it_is_for(captured: Any, mindspore: Any, command: str) -> None:
    here = mindspore.dataset.config.get_num_parallel_workers()
    assert (
        workers(captured, command)
        == {
            "default_workers.py": [(8, "own"), (8, "default"), (8, "default")],
            "defaults.py": [(1, "default"), (8, "default")],
            "on_cpu.py": [(1, "default"), (here, "default")],
            "loads_workers.py {folder}": [(1, "default"), (300, "default")],
        }[command]
    )


def test_where_the_default_comes_from_is_said(captured: Any) -> None:
    def fact(command: str) -> Any:
        return captured(command).observation.calls[0].facts.get("num_parallel_workers")

    left, given = fact("default_workers.py"), fact("asks_by_name.py")
    assert (left.status, left.value) == ("unset", 8)
    assert f"this machine has {os.cpu_count()}" in left.reason
    line = (HERE / "asks_by_name.py").read_text().splitlines().index("ds.config.set_num_parallel_workers(num=6)") + 1
    assert (given.status, given.value, given.source) == ("known", 6, f"asks_by_name.py:{line}")
    assert fact("on_cpu.py") is None


def test_a_program_that_leaves_the_default_has_the_workers_of_ascend(captured: Any) -> None:
    from pytest_ascendenv import checks

    class Env(AscendEnv):
        program = captured("default_workers.py")

    check = checks.load("min_workers")
    env = Env(declared=Declared(program="default_workers.py"))
    finding = check.judge(check.parse(8), env)
    assert finding.verdict.value == "pass"
    assert any("stages without a number have 8: MindSpore's default" in note for note in finding.notes)
    assert check.judge(check.parse(9), env).verdict.value == "fail"


@pytest.mark.skipif((os.cpu_count() or 1) >= 8, reason="MindSpore's default of 8 workers is in effect here")
def test_a_measurement_with_fewer_workers_than_the_default_says_so(mindspore: Any) -> None:
    import programs

    recorded = Recorded()
    shims = Shims(Observation(), recorded)  # type: ignore[arg-type]
    shims.install(mindspore)
    data = programs.pipeline().map(programs.scale, "image")
    assert "workers were clamped to" in shims.clamping(data)
    assert shims.clamping(programs.pipeline()) == ""
    shims._takes("CPU")
    assert shims.clamping(data) == ""


def test_a_measurement_here_is_told_the_workers_that_act_here(mindspore: Any) -> None:
    import programs

    from pytest_ascendenv.pipeline import stages
    from pytest_ascendenv.training import dataset

    with Hooks() as hooks:
        Shims(Observation(), hooks).install(mindspore)
        data = programs.pipeline(workers=400).map(programs.scale, "image")
        told, here = dataset.walk(data), stages.operations_of(data)
    threads = os.cpu_count() or 1
    assert [one.workers for one in told] == [400, 400, 400, 8]
    assert [one.workers for one in here] == [min(8, threads), *[min(400, threads)] * 3]  # from the last one


# -- every answer ------------------------------------------------------------------------------------------------------


class Recorded:
    """In place of ``Hooks``: what would be watched."""

    def __init__(self) -> None:
        self.watched: list[tuple[Any, str, Any]] = []

    def watch(self, owner: Any, name: str, handler: Any) -> None:
        self.watched.append((owner, name, handler))


def named(function: Any) -> list[str]:
    """The arguments that a caller may name, also of MindSpore's wrappers that do not say whom they wrap."""
    inner = inspect.getclosurevars(function).nonlocals.get("func") if inspect.isfunction(function) else None
    found = inspect.signature(inner or function).parameters.values()
    return [one.name for one in found if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self"]


def test_every_answer_takes_the_arguments_by_the_names_of_mindspore(mindspore: Any) -> None:
    recorded = Recorded()
    Shims(Observation(), recorded).install(mindspore)  # type: ignore[arg-type]
    wrong = {}
    for owner, name, handler in recorded.watched:
        function = getattr(owner, name, None)
        if function is None:  # not in this version
            continue
        answer = handler.args[1] if isinstance(handler, partial) else handler
        taken = inspect.signature(answer).parameters.values()
        missing = set(named(function)) - {one.name for one in taken}
        if missing and not any(one.kind is one.VAR_KEYWORD for one in taken):
            wrong[f"{owner.__name__}.{name}"] = missing
    assert not wrong
    assert len(recorded.watched) > 40
