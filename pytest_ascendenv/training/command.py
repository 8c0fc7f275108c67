"""``facts --program "FILE [ARGS]"``: what a program asks for at its first training call, as a table or JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from pytest_ascendenv.training.capture import SECONDS, Program, capture
from pytest_ascendenv.verdict import Fact, Unknown

NAMES = (
    "training_call",
    "execution_mode",
    "device_target",
    "jit_level",
    "amp_level",
    "keep_batchnorm_fp32",
    "loss_scale",
    "sink_mode",
    "sink_in_effect",
    "sink_size",
    "epochs",
    "batch_size",
    "ranks",
)
"""The order in which they are printed; others follow."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that capture a program; ``--json`` and ``--cwd`` where nobody else has added them."""
    parser.add_argument("--program", metavar="FILE", help='a training program with its arguments ("train.py --x 1")')
    parser.add_argument("--ranks", type=_count, metavar="N", help="the number of processes of the job")
    parser.add_argument(
        "--steps", type=_count, metavar="N", help="run and time so many steps, where its device is here"
    )
    parser.add_argument(
        "--timeout", type=float, default=SECONDS, metavar="S", help="seconds to the first training call (%(default)g)"
    )
    present = {option for action in parser._actions for option in action.option_strings}
    if "--cwd" not in present:
        parser.add_argument("--cwd", metavar="DIR", help="the folder the program is started in")
    if "--json" not in present:
        parser.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def run(given: argparse.Namespace) -> int:
    """Print what was captured; 0, or 1 where the program did not come to a training call."""
    try:
        program = capture(
            given.program,
            folder=Path(given.cwd or ".").resolve(),
            environ=os.environ,
            seconds=given.timeout,
            ranks=given.ranks,
            steps=given.steps,
        )
    except Unknown as reason:
        if given.json:
            _print(_as_json(unknown(str(reason))))
        print(f"could not tell: {reason}", file=sys.stderr)
        return 1
    _print(_as_json(as_dict(program)) if given.json else as_text(program))
    return 0


def _print(text: str) -> None:
    """To a reader who may leave early, as ``head`` does; Python's own flush at the end must then find no pipe."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _as_json(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=2)


def unknown(reason: str) -> dict[str, Any]:
    """What is printed as JSON of a program that cannot be told: every name, each unknown for this reason."""
    return {
        "facts": {name: Fact.unknown(name, reason).as_dict() for name in NAMES},
        "dataset": [],
        "notes": [reason],
    }


def facts(program: Program) -> dict[str, Fact]:
    found = program.observation.calls[0].facts
    return {name: found[name] for name in (*NAMES, *sorted(found)) if name in found}


def as_dict(program: Program) -> dict[str, Any]:
    """What is printed as JSON."""
    return {
        "facts": {name: fact.as_dict() for name, fact in facts(program).items()},
        "dataset": [one.as_dict() for one in program.observation.calls[0].operations or ()],
        "notes": notes(program),
    }


def notes(program: Program) -> list[str]:
    seen = program.observation
    casts = [f"{cast.name}(…, {cast.value}) at {cast.source}" for cast in seen.casts]
    machine = ["captured on a CPU: what the program asks of Ascend was let pass"] if seen.on_cpu else []
    return [*seen.notes, *casts, *machine]


def as_text(program: Program) -> str:
    call = program.observation.calls[0]
    lines = [f"{program.command}, stopped at {call.title}", ""]
    lines += [f"  {fact}" + _aside(fact) for fact in facts(program).values()]
    lines += ["", "  dataset, from the source to the last operation:"]
    for one in call.operations or ():
        python = {True: "Python", False: "C++", None: "Python or C++"}[one.python]
        where = f"  [{', '.join([*one.where, *one.paths])}]" if one.where or one.paths else ""
        lines.append(f"    {one.title}: {one.workers} workers ({one.workers_source}), {python}{where}")
        lines += [f"      {one.idle}"] if one.idle else []
    return "\n".join([*lines, "", *(f"  note: {note}" for note in notes(program))])


def _aside(fact: Fact) -> str:
    """The reason, where the fact does not say it by itself."""
    return f"  ({fact.reason})" if fact.reason and fact.status in ("known", "unset") else ""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m pytest_ascendenv facts")
    add_arguments(parser)
    try:
        given = parser.parse_args(argv)
    except SystemExit as end:
        return 4 if end.code else 0
    if not given.program:
        parser.print_usage(sys.stderr)
        return 4
    return run(given)
