"""``python -m pytest_ascendenv facts``: what the gate reads of a launch script, a configuration or a program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pytest_ascendenv.launch import command as launch
from pytest_ascendenv.training import command as training


def main(argv: Sequence[str]) -> int:
    """0, 1 where the program came to no training call, or 4 where the options are wrong or nothing can be read."""
    parser = argparse.ArgumentParser(prog="python -m pytest_ascendenv facts")
    launch.add_arguments(parser)
    training.add_arguments(parser)
    try:
        given = parser.parse_args(argv)
        if given.program and (given.launch or given.config):
            parser.error("--program cannot be read together with --launch or --config")
    except SystemExit as end:
        return 4 if end.code else 0
    return training.run(given) if given.program else launch.run(given)
