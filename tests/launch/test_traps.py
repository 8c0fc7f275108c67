"""What real scripts trip readers with: 28 kinds of trap, and what must be said of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_ascendenv.launch.subjects import Description, describe

CASES = yaml.safe_load((Path(__file__).parent / "traps.yaml").read_text(encoding="utf-8"))


def _read(case: dict[str, Any], folder: Path) -> Description:
    for name, text in {**case.get("files", {}), "run.sh": case["script"]}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return describe("run.sh", case.get("args", ()), case.get("env"), folder)


def _pair(wanted: Any) -> tuple[str, Any]:
    return (wanted[0], wanted[1]) if isinstance(wanted, list) else ("known", wanted)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_trap(case: dict[str, Any], tmp_path: Path) -> None:
    description = _read(case, tmp_path)
    assert case.get("notes", "") in "\n".join([*description.notes, description.incomplete])
    if "incomplete" in case:
        assert description.incomplete == case["incomplete"]
    if "launches" in case:
        assert len(description.launches) == case["launches"]
    for name, wanted in case.get("facts", {}).items():
        fact = description.launches[0].facts[name]
        assert (fact.status, fact.value) == _pair(wanted), (name, str(fact))
    for name, source in case.get("source", {}).items():
        assert description.launches[0].facts[name].source == source
    _check_launch(case, description)


def _check_launch(case: dict[str, Any], description: Description) -> None:
    if not description.launches or description.launches[0].launch is None:
        return
    launch = description.launches[0].launch
    assert case.get("condition", "") in launch.condition
    if "condition" not in case and "notes" not in case:
        assert launch.condition == ""
    if "program" in case:
        assert launch.program == case["program"]
    if "words" in case:
        assert [(word.status, word.value) for word in launch.arguments] == [_pair(each) for each in case["words"]]
    for name, value in case.get("env_is", {}).items():
        assert launch.env[name].value == value
