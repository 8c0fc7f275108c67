"""python -m pytest_ascendenv affinity: what would this string do?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ascendenv.__main__ import main


def run(*words: str) -> int:
    try:
        return main(["affinity", *words])
    except SystemExit as stop:
        return int(stop.code or 0)


def test_it_runs_as_a_module_without_pytest() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None; from pytest_ascendenv.__main__ import main; "
        "sys.exit(main(['affinity', '2,npu0:0-23', '--cpus', '192', '--devices', '8']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "fine binding" in done.stdout


def test_the_table_of_cores(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("2,npu0:0-23,npu_9:1", "--cpus", "192", "--devices", "8", "--release", "7.3.0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("fine binding")
    assert "ignored: 'npu_9:1'" in lines[1]
    assert "npu9:1" in lines[1].split("meant:")[1]
    assert lines[-1].split() == ["7", "168", "169", "170", "171", "172-191"]


def test_releases_that_act_otherwise_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("1,2", "--cpus", "192", "--devices", "8") == 0
    out = capsys.readouterr().out
    assert "7.1 to 26.0: fine binding" in out
    assert "26.1: coarse binding" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("1", "--cpus", "192", "--devices", "8", "--mask", "0-95", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["mode"], told["binds"], told["effective"]) == ("coarse", False, "off")
    assert told["devices"][0]["main"] is None
    assert "core 96" in told["reason"]


def test_local_cores(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("1,npu_affine:1", "--cpus", "16", "--devices", "2", "--topology", "0=8-15", "--topology", "1=0-7")
    assert run(*words) == 0
    assert capsys.readouterr().out.splitlines()[-2].split()[1] == "8-15"


def test_local_cores_as_npu_smi_printed_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "topo.txt"
    saved.write_text("      NPU0  NPU1  CPU Affinity\nNPU0  X     HCCS  8-15\nNPU1  HCCS  X     0-7\n")
    assert run("1,npu_affine:1", "--cpus", "16", "--devices", "2", "--topology", str(saved)) == 0
    assert capsys.readouterr().out.splitlines()[-2].split()[1] == "8-15"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1", "--cpus", "192"], "no NPU is visible here"),
        (["1", "--cpus", "x", "--devices", "8"], "'x' is neither a core nor a range"),
        (["1", "--cpus", "8", "--devices", "eight"], "eight"),
        (["1", "--cpus", "8", "--devices", "0"], "found 8 cores, 0 NPUs"),
        (["1", "--cpus", "8", "--devices", "1", "--release", "newest"], "'newest' is no release"),
        (["1", "--cpus", "8", "--devices", "1", "--mask", "5-2"], "reversed"),
        (["1", "--cpus", "8", "--devices", "1", "--topology", "0-7"], "CARD=CORES"),
        ([], "CONF"),
    ],
)
def test_bad_input_is_a_usage_error(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 4
    assert message in capsys.readouterr().err
