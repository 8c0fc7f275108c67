"""Paths as the preconditions about storage take them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.storage import Storage

NO_PATH = 'no path given: name it, or set data = ["/data/coco"] in the settings'


def parse(check: str, names: Iterable[Any], path: Any = ()) -> tuple[str, ...]:
    """The positional paths and those of ``path=``; TypeError for what is no path, ValueError for an empty one."""
    more = [path] if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(more, Iterable):
        raise TypeError(f"{check}: path must be a path or a list of paths, not {path!r}")
    return tuple(_one(check, name) for name in (*names, *more))


def _one(check: str, name: Any) -> str:
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"{check} takes paths, not {name!r}")
    if not os.fspath(name):
        raise ValueError(f"{check} got an empty path")
    return str(os.fspath(name))


def declared(paths: Sequence[str], env: AscendEnv) -> tuple[str, ...]:
    """The named paths, else the declared data, else what the declared program reads; Unknown where there is none."""
    found = tuple(paths or env.declared.data)
    if not found and env.declared.program is None:
        raise Unknown(NO_PATH)
    return found or _of_the_program(env)


def _of_the_program(env: AscendEnv) -> tuple[str, ...]:
    if not env.program.data_paths:
        raise Unknown(f"{env.declared.program}: its datasets hold no path that exists; {NO_PATH}")
    return env.program.data_paths


def look(paths: Iterable[str], env: AscendEnv) -> tuple[list[Storage], list[str]]:
    """What could be resolved, and the reasons of what could not; one dead mount does not hide the others."""
    seen, unseen = [], []
    for path in paths:
        try:
            seen.append(env.storage(path))
        except Unknown as unknown:
            unseen.append(str(unknown))
    return seen, unseen
