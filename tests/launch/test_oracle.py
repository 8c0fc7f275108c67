"""Bash and the interpreter agree wherever the interpreter claims to know."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import oracle

SCRIPTS = (Path(__file__).parent / "agree.txt").read_text(encoding="utf-8").split("\n#----\n")


@pytest.mark.parametrize("script", SCRIPTS, ids=[f"{n}-{' '.join(s.split())[:30]}" for n, s in enumerate(SCRIPTS)])
def test_agrees_with_bash(script: str, tmp_path: Path) -> None:
    assert oracle.disagreements(script, tmp_path) == []
