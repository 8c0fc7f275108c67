"""Facts of configuration files: every framework's keys, encodings and defaults; files that cannot be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_ascendenv.launch import configs
from pytest_ascendenv.launch.subjects import describe_configs
from pytest_ascendenv.verdict import Unknown

CASES = yaml.safe_load((Path(__file__).parent / "configs.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case['text'][:25]!r}" for n, case in enumerate(CASES)])
def test_facts(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / f"config.{case['suffix']}"
    file.write_text(case["text"], encoding="utf-8")
    facts = describe_configs([file.name], tmp_path).launches[0].facts
    wanted = {name: tuple(fact) if isinstance(fact, list) else ("known", fact) for name, fact in case["facts"].items()}
    assert {name: (facts[name].status, facts[name].value) for name in wanted} == wanted


def test_source_is_file_line_and_key_path(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        "# 注释\ncontext:\n  mode: 0\nrunner_config:\n  sink_mode: True\n", encoding="utf-8"
    )
    facts = describe_configs(["run.yaml"], tmp_path).launches[0].facts
    assert facts["sink_mode"].source == "run.yaml:5 runner_config.sink_mode"
    assert facts["execution_mode"].source == "run.yaml:3 context.mode"


def test_json_lines_with_duplicate_looking_text(tmp_path: Path) -> None:
    text = '{\n "a": "b\\"c, {",\n "d": [1,\n  {"e": null}],\n "f": {}\n}'
    (tmp_path / "x.json").write_text(text)
    leaves = configs.load(tmp_path / "x.json", "x.json").leaves
    found = {path: (leaf.value, leaf.line) for path, leaf in leaves.items()}
    assert found == {"a": ('b"c, {', 2), "d.0": (1, 3), "d.1.e": (None, 4), "f": ({}, 5)}


def test_base_files_are_merged_and_the_file_wins(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.yaml").write_text(
        "ms_mode: 1\nms_amp_level: O0\ndata:\n  num_parallel_workers: 4\n  names: [a, b]\n"
    )
    (tmp_path / "base" / "b.yaml").write_text("ms_amp_level: O2\n")
    (tmp_path / "top.yaml").write_text("__BASE__: [./base/a.yaml, ./base/b.yaml]\nms_mode: 0\ndata:\n  names: [c]\n")
    facts = describe_configs(["top.yaml"], tmp_path).launches[0].facts
    assert (facts["execution_mode"].value, facts["execution_mode"].source) == ("GRAPH_MODE", "top.yaml:2 ms_mode")
    assert (facts["amp"].value, facts["amp"].source) == ("O2", "base/b.yaml:1 ms_amp_level")
    assert facts["loader_workers"].value == 4
    leaves = configs.load(tmp_path / "top.yaml", "top.yaml").leaves
    assert [path for path in leaves if path.startswith("data.names")] == ["data.names.0"]


BOMB = "a0: &a0 [1,2,3,4,5,6,7,8,9]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", '{"a": 1,}', "a.json:1: not valid JSON"),
        ("a.json", "[" * 100_000, "not valid JSON"),
        ("a.yaml", "a: &x 1\nb: [", "a.yaml:3: not valid YAML"),
        ("a.yaml", "a: b: c\n", "a.yaml:1: not valid YAML"),
        ("a.yaml", "__BASE__: a.yaml\n", "chain of __BASE__"),
        ("a.yaml", "x: &x [*x]\n", "deeper than"),
        ("a.yaml", BOMB, "anchors"),
    ],
)  # fmt: skip
def test_unreadable_is_unknown(name: str, text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Unknown, match=reason):
        configs.load(tmp_path / name, name)


def test_no_regular_file_is_unknown(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(Unknown, match="not a regular file"):
        configs.load(tmp_path / "pipe.yaml", "pipe.yaml")
