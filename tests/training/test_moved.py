"""A program that changes its directory: its files and what it reads are still named right."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import HERE

from pytest_ascendenv.training.capture import capture
from pytest_ascendenv.verdict import Unknown

MOVES = """
import os, sys
os.chdir(os.path.dirname(os.path.abspath(__file__)))
import mindspore as ms
from parts import loss, momentum, net
data = ms.dataset.ImageFolderDataset("data").batch(8)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data)
"""


def test_a_program_that_moves_to_its_own_folder(tmp_path: Path) -> None:
    pytest.importorskip("mindspore", reason="the captured programs run real MindSpore")
    (tmp_path / "sub" / "data" / "cat").mkdir(parents=True)
    (tmp_path / "sub" / "data" / "cat" / "a.jpg").write_bytes(b"no picture")
    (tmp_path / "sub" / "train.py").write_text(MOVES)
    (tmp_path / "sub" / "parts.py").write_text((HERE / "parts.py").read_text())
    program = capture("sub/train.py", folder=tmp_path)
    assert program.data_paths == (str(tmp_path / "sub" / "data"),)
    (call,) = program.observation.calls
    assert call.site == "sub/train.py:8"
    assert call.operations[0].paths == program.data_paths


def test_a_program_that_moves_and_never_trains(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "ends.py").write_text(f"import os\nos.chdir({str(tmp_path / 'sub')!r})\nprint(1)\n")
    with pytest.raises(Unknown, match=r"line of its own that ran is sub/ends\.py:3"):
        capture("sub/ends.py", folder=tmp_path)
