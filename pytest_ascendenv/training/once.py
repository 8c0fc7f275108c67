"""The declared program is captured once, however many preconditions ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.training.capture import Program, capture
from pytest_ascendenv.training.rate import Broken, Rate
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.declared import Declared
    from pytest_ascendenv.pipeline import Throughput

NOT_DECLARED = 'no test was watched, and no program is declared: program = "train.py …"'


class Captured:
    """The program at its first training call, started when it is first asked for.

    ``measuring`` are the options of ``pipeline.measure`` where a rate will be asked for: then the one capture measures
    it too, and with ``advise`` tries its workers.
    """

    def __init__(
        self,
        declared: Declared,
        environ: Mapping[str, str],
        measuring: Mapping[str, Any] | None = None,
        advise: bool = False,
    ) -> None:
        self._declared = declared
        self._environ = environ
        self._measuring = measuring
        self._advise = advise
        self._found: Program | Unknown | None = None

    def program(self) -> Program:
        """Raises Unknown, also the second time, where it did not get there."""
        if self._found is None:
            self._found = self._capture()
        return _answer(self._found)

    @property
    def rate(self) -> Rate | None:
        """What was measured so far; nothing is started for it."""
        return self._found.measured if isinstance(self._found, Program) else None

    def throughput(self, measuring: Mapping[str, Any]) -> Throughput:
        """The rate of the program's training dataset, measured in the captured program.

        Raises Broken where its pipeline is at fault, Unknown where there is no rate to be had.
        """
        if self._found is None or (isinstance(self._found, Program) and self._found.measured is None):
            self._measuring = self._measuring or measuring
            self._found = self._capture()
        measured = _answer(self._found).measured
        if measured is None or measured.throughput is None:
            why = f"{self._declared.program}: {measured.why if measured else 'nothing was measured'}"
            raise Broken(why, measured.shown) if measured and measured.fault else Unknown(why)
        return measured.throughput

    def _capture(self) -> Program | Unknown:
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
                measure=self._measuring,
                advise=self._advise,
                steps=declared.steps,
            )
        except Unknown as reason:
            return reason


def _answer(found: Program | Unknown) -> Program:
    if isinstance(found, Unknown):
        raise Unknown(str(found))
    return found
