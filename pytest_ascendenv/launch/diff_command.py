"""``diff A B``: the facts in which two launch scripts differ, most consequential first."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence

from pytest_ascendenv.launch.command import variables
from pytest_ascendenv.launch.diff import Difference, as_text, diff
from pytest_ascendenv.launch.subjects import Described, Description, describe
from pytest_ascendenv.verdict import Unknown


def main(argv: Sequence[str]) -> int:
    """0 where nothing differs, 1 where something does, 4 where a script cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m pytest_ascendenv diff")
    parser.add_argument("first", metavar="A", help='a launch script with its arguments ("run.sh 8")')
    parser.add_argument("second", metavar="B")
    parser.add_argument("--cwd", metavar="DIR", help="the folder both are called in")
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    try:
        given = parser.parse_args(argv)
    except SystemExit as end:
        return 4 if end.code else 0
    return _run(given)


def _run(given: argparse.Namespace) -> int:
    try:
        first, second = (_read(text, given) for text in (given.first, given.second))
        found = compare(first, second)
    except (Unknown, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    if given.json:
        print(json.dumps([each.as_dict() for each in found], ensure_ascii=False, indent=2, default=str))
    else:
        print(as_text(found, given.first, given.second))
        for note in dict.fromkeys([*first.notes, *second.notes]):
            print(f"note: {note}")
    return 1 if found else 0


def _read(text: str, given: argparse.Namespace) -> Description:
    words = shlex.split(text)
    if not words:
        raise ValueError("a script is missing")
    return describe(words[0], words[1:], variables(given.env), given.cwd)


def compare(first: Description, second: Description) -> list[Difference]:
    """Launches in order; a launch that only one script has is told by its fact names."""
    _one(first)
    _one(second)
    found: list[Difference] = []
    for a, b in zip(first.launches, second.launches, strict=False):
        found += [each for each in diff(a, b) if each not in found]
    return found


def _one(description: Description) -> Described:
    if not description.launches:
        why = description.incomplete or "; ".join(description.notes[-2:]) or "it starts no program"
        raise Unknown(f"no launch found in {description.script}: {why}")
    return description.launches[0]
