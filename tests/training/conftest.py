"""MindSpore is imported once in this process, and its context put back after every test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ascendenv.environment import AscendEnv

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def mindspore() -> Any:
    return pytest.importorskip("mindspore", reason="these tests run real MindSpore")


@pytest.fixture(autouse=True)
def context(request: pytest.FixtureRequest) -> Iterator[None]:
    """PyNative before and after, as a fresh process has it; what MindSpore drops into its directory is thrown away."""
    if "mindspore" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
    ms = request.getfixturevalue("mindspore")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Env(AscendEnv):
    """The facade with a fixed number of usable cores, so that no test depends on the machine it runs on."""

    cores = 64

    @property
    def cpu(self) -> Any:
        return SimpleNamespace(usable=self.cores)


@pytest.fixture
def judge() -> Any:
    """``judge("graph_mode", seen)`` or ``judge("amp_level", seen, "O2")``: the finding of that check."""
    from pytest_ascendenv import checks

    def judge(name: str, seen: Any, *args: Any, cores: int = 64) -> Any:
        check = checks.load(name)
        env = Env(observed=seen, subject="test_it")
        env.cores = cores
        return check.judge(check.parse(*args), env)

    return judge


@pytest.fixture(scope="session")
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """``captured("blog.py")``: that program, up to its first training call. Those that are wanted start together."""
    from captures import Captures

    captures = Captures(tmp_path_factory.mktemp("captured"))
    wanted = [item.callspec.params.get("command") for item in request.session.items if hasattr(item, "callspec")]
    captures.start(dict.fromkeys(filter(None, wanted)))
    yield captures
    captures.close()
