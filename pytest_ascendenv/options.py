"""The command line options."""

from __future__ import annotations

import argparse

import pytest

# An option of these makes sense only in an active run, so it turns the run on by itself.
IMPLYING = (
    "ascend_env_gate",
    "ascend_env_require",
    "ascend_env_config",
    "ascend_env_profile",
    "ascend_env_launch",
    "ascend_env_against",
    "ascend_env_facts",
    "ascend_env_program",
    "ascend_env_data",
    "ascend_env_advise",
)
SUBJECTS = ("launch", "program", "data")
"""Options that stand for a settings key of that name."""


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("ascend-env", "pre-job checks for training on Ascend")
    group.addoption(
        "--ascend-env",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="Check the declared preconditions as items ascend-env::NAME and enforce the markers on tests",
    )
    group.addoption(
        "--ascend-env-gate",
        action="store_true",
        default=False,
        help="Also run no test (exit code 78) while one declared precondition is not met",
    )
    group.addoption(
        "--ascend-env-require",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="Add or override one precondition, as in amp_level=O2 (repeatable)",
    )
    group.addoption("--ascend-env-config", metavar="FILE", help="Read the settings from this file")
    group.addoption("--ascend-env-profile", metavar="NAME", help="Lay the settings of [profile.NAME] over the others")
    group.addoption(
        "--ascend-env-launch", metavar='"SCRIPT [ARGS]"', help="Judge this launch script; it is read, never executed"
    )
    group.addoption(
        "--ascend-env-against", metavar='"SCRIPT [ARGS]"', help="Also print how the launch script differs from this one"
    )
    group.addoption(
        "--ascend-env-program",
        metavar='"FILE [ARGS]"',
        help="Judge this training program; it is run up to its first training call, in a child",
    )
    group.addoption(
        "--ascend-env-facts",
        metavar="FILE",
        help="Judge the host in this file (python -m pytest_ascendenv capture) in place of this one",
    )
    group.addoption(
        "--ascend-env-advise",
        action="store_true",
        default=False,
        help="Also measure the slow operation of each measured pipeline with 1, 2, 4 ... workers",
    )
    group.addoption(
        "--ascend-env-data",
        action="append",
        default=[],
        metavar="PATH",
        help="A path of the training data, in place of the settings' data (repeatable)",
    )


def active(config: pytest.Config) -> bool:
    """Whether this run checks anything; ``--no-ascend-env`` undoes whatever addopts ask for."""
    asked: bool | None = config.getoption("ascend_env")
    return any(config.getoption(name) not in (None, False, []) for name in IMPLYING) if asked is None else asked


def empty(config: pytest.Config) -> list[str]:
    """Options that were given an empty value, as an unset shell variable does."""
    values = {name: config.getoption(name) for name in IMPLYING if name != "ascend_env_require"}
    return [f"--{name.replace('_', '-')}" for name, value in values.items() if value == "" or value in ([""], [" "])]
