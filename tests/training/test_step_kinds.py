"""What is a step of a training and what is not, and what it holds: programs captured on real MindSpore."""

from __future__ import annotations

from typing import Any

import pytest
from test_capture import judged

ms = pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")

GRAPH, PYNATIVE = "GRAPH_MODE", "PYNATIVE_MODE"
OLD = ms.__version__.startswith("2.7")


def call_of(captured: Any, command: str) -> Any:
    (call,) = captured(command).observation.calls
    return call


def assert_facts(captured: Any, command: str, wanted: dict[str, Any]) -> None:
    call = call_of(captured, command)
    assert {name: call.facts[name].value for name in wanted} == wanted


@pytest.mark.parametrize(
    ("command", "scale"),
    [
        ("step_wrapper.py fixed model", "FixedLossScaleUpdateCell(1024)"),
        ("step_wrapper.py fixed loop", "FixedLossScaleUpdateCell(1024)"),
        ("step_wrapper.py dynamic model", "DynamicLossScaleUpdateCell"),
        ("step_wrapper.py dynamic loop", "DynamicLossScaleUpdateCell"),
        ("step_wrapper.py tensor loop", "scale_sense=512"),
        ("step_wrapper.py sens model", "sens=256"),
        ("mindformers_style.py --config mindformers.yaml", "FixedLossScaleUpdateCell(65536)"),
        ("mindocr_style.py --config mindocr.yaml", "DynamicLossScaleUpdateCell"),
    ],
)
def test_the_loss_scale_of_a_step_cell_whatever_its_name(captured: Any, command: str, scale: str) -> None:
    fact = call_of(captured, command).facts["loss_scale"]
    assert (fact.status, fact.value) == ("known", scale)
    assert not any("loss scale" in note for note in judged(captured, "program_rules", command).notes)


GRADIENTS = {
    "value": "ForwardValueAndGrad",
    "grad": "WithGradCell",
    "own": "GradNetWithWrtParams",
    "code": "the update by Momentum",
    "jit": "the update by Momentum",
}


@pytest.mark.parametrize(
    "command", [f"gradient_cell.py {how} {mode} {{folder}}" for how in GRADIENTS for mode in ("graph", "pynative")]
)
def test_a_gradient_in_a_cell_and_the_optimizer_outside(captured: Any, command: str) -> None:
    _, how, mode, _ = command.split()
    as_a_whole = mode == "graph" or how == "jit"  # operator by operator the gradient itself is seen
    wanted = GRADIENTS[how] if as_a_whole else "the gradient of WithLossCell"
    assert_facts(
        captured,
        command,
        {
            "training_call": wanted,
            "execution_mode": GRAPH if mode == "graph" else PYNATIVE,
            "amp_level": "O2" if how == "value" else "O0",
            "sink_mode": False,
            "batch_size": 8,
        },
    )
    assert not list(captured.folder.rglob("left.ckpt"))


@pytest.mark.parametrize(
    "command", [f"adversarial.py {how} {mode}" for how in ("cell", "function", "jit") for mode in ("graph", "pynative")]
)
def test_a_gradient_by_inputs_is_no_training(captured: Any, command: str) -> None:
    assert_facts(captured, command, {"training_call": "the gradient of forward", "batch_size": 4})
    assert "the attack was made" in captured(command).output


STEPS = {"jit": "@jit train_step", "cell": "TrainStep", "loop": "the gradient of forward"}


@pytest.mark.parametrize(
    "command", [f"other_optimizer.py {family} {how}" for family in ("experimental", "mint") for how in STEPS]
)
def test_an_optimizer_of_the_other_family_is_no_network(captured: Any, command: str) -> None:
    how = command.split()[-1]
    assert_facts(captured, command, {"training_call": STEPS[how], "amp_level": "O3"})
    finding = judged(captured, "graph_mode", command)
    assert (finding.verdict.value == "pass") is (how != "loop"), finding


@pytest.mark.parametrize("command", ["helper_sink.py graph", "helper_sink.py pynative"])
def test_a_helper_with_sink_is_let_pass_on_a_cpu(captured: Any, command: str) -> None:
    assert_facts(
        captured,
        command,
        {
            "training_call": "TrainOneStepCell",
            "sink_mode": True,
            "sink_in_effect": command.endswith("graph"),
            "sink_size": 4,
            "batch_size": 8,
        },
    )
    assert "evaluated () [16, 1, 8, 8]" in captured(command).output
    assert "an epoch was made" not in captured(command).output


@pytest.mark.skipif(not hasattr(ms.dataset, "dataloader"), reason="DataLoader came with MindSpore 2.9")
@pytest.mark.parametrize("command", ["data_loader.py"])
def test_a_data_loader_feeds_the_loop(captured: Any, command: str) -> None:
    assert_facts(captured, command, {"batch_size": 8, "training_call": "the gradient of forward"})
    (operation,) = call_of(captured, command).operations
    assert (operation.kind, operation.workers, operation.functions) == ("DataLoader", 2, ("Images",))


@pytest.mark.parametrize(
    ("command", "level", "text"),
    [
        ("jit_level.py model", "O1", "network.set_jit_config(config)"),
        ("jit_level.py late", None, ""),  # the step was built before and keeps its own
        ("jit_level.py cell", "O1", "network.set_jit_config(config)"),
        ("jit_level.py jit", "O1", "def train_step"),
        ("jit_level.py plain", "O0" if OLD else "O1", "def train_step" if OLD else "set_context"),
        ("jit_level.py sink", "O1", "ms.data_sink"),
    ],
)
def test_a_jit_level_beside_the_context(captured: Any, command: str, level: str | None, text: str) -> None:
    from captures import HERE

    fact = call_of(captured, command).facts["jit_level"]
    assert (fact.status, fact.value) == (("known", level) if level else ("unset", None))
    if level:
        file, _, line = fact.source.rpartition(":")
        assert text in (HERE / file).read_text().splitlines()[int(line) - 1], fact


@pytest.mark.parametrize(
    ("command", "title"),
    [("captures_jit.py bytecode", "@jit train_step"), ("captures_jit.py trace", "the gradient of forward")],
)
def test_a_step_captured_from_bytecode_or_by_trace(captured: Any, command: str, title: str) -> None:
    wanted = {"training_call": title, "execution_mode": PYNATIVE, "amp_level": "O0", "batch_size": 8}
    assert_facts(captured, command, wanted)
    assert "a step was made" not in captured(command).output


@pytest.mark.parametrize("command", ["batches.py function", "batches.py buckets"])
def test_batches_without_one_size(captured: Any, command: str) -> None:
    fact = call_of(captured, command).facts["batch_size"]
    assert (fact.status, "was given no number" in fact.reason) == ("unknown", True)
