"""``facts --launch "SCRIPT [ARGS]"`` and ``facts --config FILE``: what the gate reads, as a table or JSON."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import Any

from pytest_ascendenv.launch import shown
from pytest_ascendenv.launch.subjects import Description, describe, describe_configs
from pytest_ascendenv.verdict import Unknown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that read launches and configurations."""
    parser.add_argument("--launch", metavar="SCRIPT", help='a launch script with its arguments ("run.sh 8")')
    parser.add_argument("--config", metavar="FILE", action="append", default=[], help="a configuration (repeatable)")
    parser.add_argument("--cwd", metavar="DIR", help="the folder the script is called in")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable of the calling environment"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(given: argparse.Namespace) -> int:
    """Print the facts; 0, or 4 where the options are wrong or nothing can be read."""
    try:
        description = _described(given)
    except (Unknown, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        if given.json:
            _printed(_json({"launches": [], "notes": [str(error)]}))
        return 4
    _printed(_json(shown.as_dict(description)) if given.json else shown.as_text(description))
    return 0


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, default=str)


def _printed(text: str) -> None:
    """Print; a reader that has gone (``| head``) is no error."""
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _described(given: argparse.Namespace) -> Description:
    if given.launch:
        words = shlex.split(given.launch)
        if not words:
            raise ValueError("--launch is empty")
        return describe(words[0], words[1:], variables(given.env), given.cwd)
    if not given.config:
        raise ValueError("give --launch SCRIPT or --config FILE")
    return describe_configs(given.config, given.cwd)


def variables(words: list[str]) -> dict[str, str]:
    """NAME=VALUE words; ValueError for one without the sign."""
    for word in words:
        if not word.partition("=")[1] or not word.partition("=")[0].isidentifier():
            raise ValueError(f"--env takes NAME=VALUE, found {word!r}")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m pytest_ascendenv facts")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except SystemExit as end:
        return 4 if end.code else 0
