"""Captures of the programs in ``captured/``, two at a time, each once a session."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pytest_ascendenv.training.capture import Program, capture

HERE = Path(__file__).with_name("captured")


class Captures:
    """``captures("blog.py")`` gives the program, or raises what its capture raised."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pool = ThreadPoolExecutor(2)
        self.futures: dict[str, Future[Program]] = {}

    def start(self, commands: Iterable[str]) -> None:
        for command in commands:
            self._future(command)

    def __call__(self, command: str) -> Program:
        return self._future(command).result()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    def _future(self, command: str) -> Future[Program]:
        if command not in self.futures:
            self.futures[command] = self.pool.submit(
                capture, self._command(command), **OPTIONS.get(command, {}), folder=HERE
            )
        return self.futures[command]

    def _command(self, command: str) -> str:
        return command.replace("{folder}", str(self.folder))


OPTIONS: dict[str, dict[str, Any]] = {
    "mindcv_style.py --config mindcv.yaml": {"ranks": 8},
    "hangs.py": {"seconds": 2},
    "parallel.py": {"ranks": 4},
    "waits_for_others.py": {"ranks": 8},
}
