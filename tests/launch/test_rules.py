"""The incident: what the gate says of the two scripts, and of each rule alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ascendenv.checks import load, on_launch
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

INCIDENT = Path(__file__).parents[2] / "examples" / "incident"


def _env(launch: str, cwd: Path, **declared: Any) -> AscendEnv:
    return AscendEnv(declared=Declared(launch=launch, launch_cwd=str(cwd), **declared))


def _judge(name: str, env: AscendEnv, *args: Any, **kwargs: Any) -> Finding:
    check = load(name)
    return check.judge(check.parse(*args, **kwargs), env)


def _write(folder: Path, text: str) -> Path:
    (folder / "run.sh").write_text(text, encoding="utf-8")
    return folder


def test_the_72b_script_fails_and_says_where() -> None:
    finding = _judge("launch_rules", _env("finetune_72b.sh", INCIDENT))
    assert finding.verdict is Verdict.FAIL
    assert "64 preprocessing workers" in finding.found
    assert "finetune_72b.sh:9" in finding.fix
    assert [fact.source.split(" ")[0] for fact in finding.evidence] == ["finetune_72b.sh:9", "data_72b.json:14"]


def test_the_32b_script_passes() -> None:
    assert _judge("launch_rules", _env("finetune_32b.sh", INCIDENT)).verdict is Verdict.PASS


def test_affinity_mode_is_judged_by_its_effect() -> None:
    verdicts = {
        name: on_launch.judge("affinity_mode", "coarse", _env(f"finetune_{name}.sh", INCIDENT)).verdict
        for name in ("32b", "72b")
    }
    assert verdicts == {"32b": Verdict.PASS, "72b": Verdict.FAIL}


PREPROCESS = "torchrun --nproc_per_node 1 pretrain_gpt.py --use-mcore-models --num-layers 1 --workers 1"


def test_one_script_passes_one_profile_and_fails_the_other(tmp_path: Path) -> None:
    env = _env("run.sh", _write(tmp_path, f"export CPU_AFFINITY_CONF=1\n{PREPROCESS}\n"))
    assert _judge("single_device", env).verdict is Verdict.PASS
    assert on_launch.judge("min_workers", 8, env).verdict is Verdict.FAIL
    training = _env("finetune_32b.sh", INCIDENT)
    assert _judge("single_device", training).verdict is Verdict.FAIL
    assert on_launch.judge("min_workers", 2, training).verdict is Verdict.PASS


def test_single_device_names_each_fix() -> None:
    finding = _judge("single_device", _env("finetune_72b.sh", INCIDENT))
    for text in ("NNODES=1", "NPUS_PER_NODE=1", "TP=1", "PP=1", "num_layers: 1"):
        assert text in finding.fix


def test_workers_that_do_not_fit_memory(tmp_path: Path) -> None:
    env = _env("run.sh", _write(tmp_path, PREPROCESS))
    finding = _judge("single_device", env, worker_memory="900 TB")
    assert finding.verdict is Verdict.FAIL
    assert "available" in finding.found


@pytest.mark.parametrize(
    ("script", "verdict", "text"),
    [
        (f"export CPU_AFFINITY_CONF=2\n{PREPROCESS[:-1]}16", Verdict.FAIL, "16 preprocessing workers"),
        (f"export CPU_AFFINITY_CONF=mode:2\n{PREPROCESS[:-1]}16", Verdict.FAIL, "16 preprocessing workers"),
        (f"export CPU_AFFINITY_CONF=1\n{PREPROCESS[:-1]}16", Verdict.PASS, "no rule"),
        (f"export CPU_AFFINITY_CONF=2\n{PREPROCESS}", Verdict.PASS, "no rule"),
        ("export CPU_AFFINITY_CONF=1\nmsrun --bind_core=True train.py", Verdict.FAIL, "two binders"),
        ("export CPU_AFFINITY_CONF=1\ntaskset -c 0-23 torchrun train.py", Verdict.FAIL, "taskset -c 0-23"),
        ("msrun --bind_core=True train.py", Verdict.PASS, "no rule"),
        ("export CPU_AFFINITY_CONF=0\nmsrun --bind_core=True train.py", Verdict.PASS, "no rule"),
        ("export CPU_AFFINITY_CONF=1\nmsrun --bind_core=False train.py", Verdict.PASS, "no rule"),
    ],
)
def test_rules(script: str, verdict: Verdict, text: str, tmp_path: Path) -> None:
    finding = _judge("launch_rules", _env("run.sh", _write(tmp_path, script)))
    assert finding.verdict is verdict
    assert text in finding.found


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("export CPU_AFFINITY_CONF=2\nexport CPU_AFFINITY_CONF=1\npython x.py", "is overridden by CPU_AFFINITY_CONF=1"),
        ("# 细绑核\nexport CPU_AFFINITY_CONF=1\npython x.py", "细绑核"),
        (f"export CPU_AFFINITY_CONF=2 # coarse binding\n{PREPROCESS}", "coarse binding"),
    ],
)  # fmt: skip
def test_notes(script: str, note: str, tmp_path: Path) -> None:
    finding = _judge("launch_rules", _env("run.sh", _write(tmp_path, script)))
    assert any(note in each for each in finding.notes)


def test_the_loader_flag_that_overrides_the_configuration() -> None:
    text = (INCIDENT / "data_32b.json").read_text()
    assert '"num_workers": 2' in text  # equal to Megatron's default, so there is nothing to note
    assert _judge("launch_rules", _env("finetune_32b.sh", INCIDENT)).notes == ()


def test_a_configuration_that_has_no_effect_is_noted(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(
        '{"dataset_param": {"basic_parameters": {}}, "dataloader_param": {"num_workers": 16}}'
    )
    env = _env("run.sh", _write(tmp_path, "torchrun pretrain_vlm.py --mm-data data.json"))
    assert "dataloader_param.num_workers = 16 has no effect" in "".join(_judge("launch_rules", env).notes)


@pytest.mark.parametrize(
    "script",
    [
        f"export CPU_AFFINITY_CONF=$(cat conf)\n{PREPROCESS[:-1]}16",
        f"export CPU_AFFINITY_CONF=${{CONF:-2}}\n{PREPROCESS[:-1]}16",
        f"export CPU_AFFINITY_CONF=1\nsource missing.sh\n{PREPROCESS[:-1]}16",
        "export CPU_AFFINITY_CONF=1\nssh other 'bash train.sh'\npython x.py",
        "export CPU_AFFINITY_CONF=1\n",
    ],
)
def test_what_is_not_known_is_never_a_pass(script: str, tmp_path: Path) -> None:
    env = _env("run.sh", _write(tmp_path, script))
    assert _verdict(lambda: on_launch.judge("affinity_mode", "coarse", env)) is Verdict.UNKNOWN
    assert _verdict(lambda: _judge("launch_rules", env)) is Verdict.UNKNOWN


def _verdict(judge: Callable[[], Finding]) -> Verdict:
    try:
        return judge().verdict
    except Unknown:
        return Verdict.UNKNOWN


def test_users_supply_what_only_run_time_knows(tmp_path: Path) -> None:
    folder = _write(
        tmp_path, f"export CPU_AFFINITY_CONF=${{CONF:-2}}\nN=$(cat hosts | wc -l)\n{PREPROCESS} --nnodes $N"
    )
    (folder / "run.sh").write_text("export CPU_AFFINITY_CONF=${CONF:-2}\ntorchrun --nnodes $(cat h | wc -l) x.py")
    env = _env("run.sh", folder, launch_env={"CONF": "1"}, nnodes=4)
    assert env.launch.fact("affinity").value == "1"
    assert env.launch.fact("nodes").value == 4
    (folder / "hosts").write_text("# nodes\na\nb\n\n")
    assert _env("run.sh", folder, hostfile=str(folder / "hosts")).launch.fact("nodes").value == 2


def test_launches_that_differ_are_not_one_fact(tmp_path: Path) -> None:
    script = "export CPU_AFFINITY_CONF=1\npython a.py\nexport CPU_AFFINITY_CONF=2\npython b.py"
    env = _env("run.sh", _write(tmp_path, script))
    assert env.launch.fact("affinity").status == "unknown"
    assert on_launch.judge("affinity_mode", "coarse", env).verdict is Verdict.FAIL


def test_data_paths_are_judged_by_local_storage(tmp_path: Path) -> None:
    folder = _write(tmp_path, "torchrun pretrain_gpt.py --use-mcore-models --data-path data/nowhere")
    check = load("local_storage")
    finding = on_launch.judge("local_storage", check.parse(), _env("run.sh", folder))
    assert finding.verdict is Verdict.FAIL
    assert f"{folder}/data/nowhere does not exist" in finding.found


@pytest.mark.parametrize(
    ("text", "verdict"), [("mode: 0\nval_amp_level: O0\n", "pass"), ("mode: 1\nval_amp_level: O0\n", "fail")]
)
def test_graph_mode_of_a_configuration(text: str, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    env = _env("run.sh", _write(tmp_path, "python train.py --config c.yaml"))
    assert on_launch.judge("graph_mode", None, env).verdict.value == verdict
