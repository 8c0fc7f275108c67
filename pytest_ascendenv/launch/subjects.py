"""A launch with the configuration files that its command names, and its facts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_ascendenv.launch import configs
from pytest_ascendenv.launch import facts as reading
from pytest_ascendenv.launch.model import Launch, Launches, Word
from pytest_ascendenv.launch.reader import read_launches
from pytest_ascendenv.launch.sourcing import display
from pytest_ascendenv.verdict import Fact, Unknown

SUFFIXES = (".json", ".yaml", ".yml")
NAMED = re.compile(r"^-{1,2}(c|.*(config|cfg|conf|mm[-_](data|model|tool)|yaml|deepspeed|ds_config|params).*)$")
MOST = 16  # configuration files of one launch


@dataclass(frozen=True, eq=False)
class Described:
    """A launch and what can be said of it by name."""

    launch: Launch | None
    configs: tuple[configs.Config, ...] = ()
    unread: tuple[str, ...] = ()
    supplied: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def facts(self) -> dict[str, Fact]:
        return reading.facts(self.subject)

    @cached_property
    def framework(self) -> str:
        return reading.framework(self.subject).name

    @cached_property
    def subject(self) -> reading.Subject:
        return reading.Subject(self.launch, self.configs, self.unread, dict(self.supplied))

    @property
    def name(self) -> str:
        if self.launch is None:
            return ", ".join(config.name for config in self.configs)
        return f"{self.launch.source} ({self.launch.launcher} {self.launch.program or '?'})"


@dataclass(frozen=True, eq=False)
class Description:
    """A script (or configurations) read whole: each launch described, with the notes."""

    launches: tuple[Described, ...]
    notes: tuple[str, ...] = ()
    incomplete: str = ""
    script: str = ""
    read: Launches | None = None


def describe(
    script: str,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    supplied: Mapping[str, Any] | None = None,
) -> Description:
    """Read a script and the configurations its launches name; raises Unknown where the script cannot be read."""
    read = read_launches(script, args, env, cwd)
    base = os.path.abspath(cwd or os.getcwd())
    cache: dict[str, configs.Config | str] = {}
    described = tuple(_described(launch, base, cache, supplied or {}) for launch in read.launches)
    notes = [*read.notes, *(note for one in cache.values() if not isinstance(one, str) for note in one.notes)]
    notes += [text for text in cache.values() if isinstance(text, str)]
    return Description(described, tuple(dict.fromkeys(notes)), read.incomplete, read.script, read)


def describe_configs(files: Sequence[str], cwd: str | os.PathLike[str] | None = None) -> Description:
    """Configurations alone; raises Unknown where one cannot be read."""
    base = os.path.abspath(cwd or os.getcwd())
    loaded = tuple(configs.load(Path(os.path.join(base, name)), name) for name in files)
    notes = tuple(note for config in loaded for note in config.notes)
    return Description((Described(None, loaded),), notes)


def _described(
    launch: Launch, base: str, cache: dict[str, configs.Config | str], supplied: Mapping[str, Any]
) -> Described:
    found: list[configs.Config] = []
    unread: list[str] = []
    for word in named_files(launch):
        if word.value is None:
            unread.append(f"a configuration that is not known ({word.reason})")
            continue
        loaded = _loaded(word.value, launch, base, cache)
        if isinstance(loaded, str):
            unread.append(loaded)
        elif len(found) < MOST:
            found.append(loaded)
    return Described(launch, tuple(found), tuple(unread), supplied)


def _loaded(name: str, launch: Launch, base: str, cache: dict[str, configs.Config | str]) -> configs.Config | str:
    if launch.cwd is None and not name.startswith("/"):
        return f"{name}: the working directory of the launch is not known"
    path = Path(os.path.join(launch.cwd or "/", name))
    shown = display(path, base)
    if shown not in cache:
        try:
            cache[shown] = configs.load(path, shown)
        except Unknown as error:
            cache[shown] = str(error)
    return cache[shown]


def named_files(launch: Launch) -> Iterator[Word]:
    """The words that name a configuration: values of flags such as --config, and bare file names."""
    words = launch.arguments if launch.launcher != "accelerate" else launch.argv[1:]
    flag = ""
    for word in words:
        text = word.value or ""
        name, equals, rest = text.partition("=")
        if word.value is not None and text.startswith("-"):
            flag = "" if equals else name
            if equals and rest.endswith(SUFFIXES) and NAMED.match(name):
                yield Word(rest, word.status, word.source, word.reason)
            continue
        is_file = text.endswith(SUFFIXES) and not equals
        if is_file if not flag else NAMED.match(flag) and (word.value is None or is_file):
            yield word
        flag = ""
