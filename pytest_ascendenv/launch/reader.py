"""``read_launches``: every launch of a script, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_ascendenv.launch import text as texts
from pytest_ascendenv.launch.model import Launches
from pytest_ascendenv.launch.run import Run, TooMuch
from pytest_ascendenv.launch.state import State, Variable
from pytest_ascendenv.launch.values import known
from pytest_ascendenv.verdict import Unknown


def read_launches(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Launches:
    """The launches of ``script`` called with ``args`` in ``cwd`` (default: the present one).

    ``env`` holds the variables of the calling environment that the user vouches for; any other that the script
    reads makes a value conditional. Nothing is executed, and no file is read but those the script
    names. Raises Unknown where the script itself cannot be read.
    """
    base = os.path.abspath(cwd or os.getcwd())
    name = os.fspath(script)
    path = Path(os.path.join(base, name))
    from pytest_ascendenv.launch.sourcing import display

    shown = display(path, base)
    source = texts.read(path, shown)
    run = Run(_state(name, args, env or {}, base), notes=list(source.notes), name=shown)
    run.files[shown] = source
    run.invoked = known(name)
    run.mended += [source.mended] if source.mended else []
    return _interpreted(run, source, base)


def _state(name: str, args: Sequence[str], env: Mapping[str, str], base: str) -> State:
    given = {key: Variable({"0": known(value, "the given environment")}, exported=True) for key, value in env.items()}
    return State(given, args=[known(arg, "the given arguments") for arg in args], zero=known(name), cwd=known(base))


def _interpreted(run: Run, source: texts.Source, base: str) -> Launches:
    from pytest_ascendenv.launch.interpreter import Interpreter

    text, placeholders = texts.mend(source.text)
    for line, shown in placeholders:
        run.note(f"{source.name}:{line}: {shown} is a placeholder; Bash reads it as a redirection")
    shell = Interpreter(run)
    shell.base = base
    try:
        shell.text(text, source.name)
        shell.run.name = source.name
        shell.ending()
        for where in shell.left.values():
            shell.incomplete.append(
                f"what a trap on EXIT runs where the script may leave early ({where}) is not followed"
            )
    except (TooMuch, RecursionError) as error:
        reason = str(error) if isinstance(error, TooMuch) else "nested too deep"
        run.note(f"could not tell: {reason}")
        shell.incomplete.append(f"could not tell: {reason}")
    syntax = [note for note in run.notes if "syntax error" in note]
    incomplete = "; ".join(dict.fromkeys([*run.mended, *shell.incomplete, *syntax]))
    return Launches(source.name, tuple(run.launches), tuple(run.notes), incomplete, run.files)


__all__ = ["Unknown", "read_launches"]
