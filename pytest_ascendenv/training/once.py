"""The declared program is captured once, however many preconditions ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ascendenv.training.capture import Program, capture
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.declared import Declared
    from pytest_ascendenv.pipeline import Throughput

NOT_DECLARED = 'no test was watched, and no program is declared: program = "train.py …"'


class Captured:
    """The program at its first training call, started when it is first asked for.

    ``floor`` in samples/s, where a rate will be asked for: then the one capture measures it too.
    """

    def __init__(self, declared: Declared, environ: Mapping[str, str], floor: float | None = None) -> None:
        self._declared = declared
        self._environ = environ
        self._floor = floor
        self._found: Program | Unknown | None = None

    def program(self) -> Program:
        """Raises Unknown, also the second time, where it did not get there."""
        if self._found is None:
            self._found = self._capture(self._floor is not None, self._floor)
        return _answer(self._found)

    def throughput(self, floor: float | None) -> Throughput:
        """The rate of the program's training dataset, measured in the captured program.

        Raises Unknown where there is none to be had.
        """
        if self._found is None or (isinstance(self._found, Program) and self._found.measured is None):
            self._found = self._capture(True, floor)
        measured = _answer(self._found).measured
        if measured is None or isinstance(measured, str):
            raise Unknown(f"{self._declared.program}: {measured}")
        return measured

    def _capture(self, measure: bool, floor: float | None) -> Program | Unknown:
        declared = self._declared
        if declared.program is None:
            return Unknown(NOT_DECLARED)
        try:
            return capture(
                declared.program,
                folder=Path(declared.program_cwd or ".").resolve(),
                # PYTEST_CURRENT_TEST is pytest's own, not the program's.
                environ={name: value for name, value in self._environ.items() if name != "PYTEST_CURRENT_TEST"},
                seconds=declared.capture_timeout,
                ranks=declared.ranks,
                measure=measure,
                floor=floor,
                steps=declared.steps,
            )
        except Unknown as reason:
            return reason


def _answer(found: Program | Unknown) -> Program:
    if isinstance(found, Unknown):
        raise Unknown(str(found))
    return found
