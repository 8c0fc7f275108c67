"""The declared program is captured once a run, however many preconditions ask for it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ascendenv.training.capture import Program, capture
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.declared import Declared
    from pytest_ascendenv.pipeline import Throughput

NOT_DECLARED = 'no test was watched, and no program is declared: program = "train.py …"'

_captured: dict[Hashable, Program | Unknown] = {}


def program(declared: Declared, environ: Mapping[str, str]) -> Program:
    """The program at its first training call; raises Unknown, also the second time, where it did not get there."""
    key = _key(declared, environ)
    if key not in _captured:
        _captured[key] = _capture(declared, environ)
    return _answer(_captured[key])


def throughput(declared: Declared, environ: Mapping[str, str], floor: float | None) -> Throughput:
    """The rate of the program's training dataset, measured in the captured program.

    Raises Unknown where there is none to be had.
    """
    key = _key(declared, environ)
    known = _captured.get(key)
    if known is None or (isinstance(known, Program) and known.measured is None):
        known = _captured[key] = _capture(declared, environ, measure=True, floor=floor)
    measured = _answer(known).measured
    if measured is None or isinstance(measured, str):
        raise Unknown(f"{declared.program}: {measured}")
    return measured


def _key(declared: Declared, environ: Mapping[str, str]) -> Hashable:
    where = Path(declared.program_cwd or ".").resolve()
    settings = (declared.program, where, declared.capture_timeout, declared.ranks)
    return (*settings, frozenset(_for_the_program(environ).items()))


def _for_the_program(environ: Mapping[str, str]) -> dict[str, str]:
    """Without what pytest sets anew for every test."""
    return {name: value for name, value in environ.items() if name != "PYTEST_CURRENT_TEST"}


def _capture(
    declared: Declared, environ: Mapping[str, str], measure: bool = False, floor: float | None = None
) -> Program | Unknown:
    if declared.program is None:
        return Unknown(NOT_DECLARED)
    try:
        return capture(
            declared.program,
            folder=Path(declared.program_cwd or ".").resolve(),
            environ=_for_the_program(environ),
            seconds=declared.capture_timeout,
            ranks=declared.ranks,
            measure=measure,
            floor=floor,
        )
    except Unknown as reason:
        return reason


def _answer(found: Program | Unknown) -> Program:
    if isinstance(found, Unknown):
        raise Unknown(str(found))
    return found
