"""Options and the settings file as typed settings; every mistake in them is told at once, with its place."""

from __future__ import annotations

import datetime
import difflib
import os
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from pytest_ascendenv import toml_source
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.requirements import Requirement, read_arguments
from pytest_ascendenv.toml_source import SettingsError, Source
from pytest_ascendenv.verdict import Check

RESERVED = ("require", "profile", "waive")


class Waiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure of ``precondition`` that is accepted up to and including ``until``; it stays visible as waived."""

    precondition: str
    reason: str
    owner: str = ""
    until: datetime.date | None = None

    def holds(self, today: datetime.date) -> bool:
        return self.until is None or today <= self.until

    def __str__(self) -> str:
        owner = f" by {self.owner}" if self.owner else ""
        until = f" until {self.until}" if self.until else ""
        return f"waived{owner}{until}: {self.reason}"


@dataclass(frozen=True)
class Settings:
    """What is declared: the subjects, the required preconditions by name in order, the waivers, and the file."""

    file: str = ""
    declared: Declared = field(default_factory=Declared)
    required: Mapping[str, Requirement] = field(default_factory=dict)
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Given:
    """What the command line gives: NAME[=VALUE] words, a file, a profile, and values for top-level keys."""

    require: Sequence[str] = ()
    file: str | None = None
    profile: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Layer:
    """What one table says: the whole file's, or a profile's."""

    values: Mapping[str, Any]
    required: Mapping[str, Requirement]
    waivers: Mapping[str, Waiver]


def read(given: Given, folders: Iterable[Path], cwd: Path, checks: Mapping[str, Check]) -> Settings:
    """The settings; raises SettingsError with every mistake, one a line, also of profiles that are not chosen."""
    source = _named(given.file, cwd) if given.file else _find(folders, cwd)
    mistakes: list[str] = []
    layers = [_layer(source, source.table, (), checks, mistakes)]
    profiles = {
        name: _layer(source, table, ("profile", name), checks, mistakes)
        for name, table in _profiles(source, mistakes).items()
    }
    if given.profile in profiles:
        layers.append(profiles[given.profile])
    elif given.profile is not None:
        mistakes.append(_no_profile(given.profile, profiles, source))
    asked = _from_command_line(given.require, checks, mistakes)
    mistakes += _given_mistakes(given.values)
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    values = {key: value for layer in layers for key, value in layer.values.items()}
    return _without_dropped(
        Settings(
            source.file,
            msgspec.convert({**_started_in(source, values, given.values), **values, **given.values}, Declared),
            {name: needed for layer in layers for name, needed in layer.required.items()} | asked,
            {name: waiver for layer in layers for name, waiver in layer.waivers.items()},
        )
    )


def _layer(
    source: Source, table: dict[str, Any], above: tuple[str, ...], checks: Mapping[str, Check], mistakes: list[str]
) -> _Layer:
    return _Layer(
        _values(source, table, above, mistakes),
        _required(source, table, above, checks, mistakes),
        _waivers(source, table, above, checks, mistakes),
    )


def _profiles(source: Source, mistakes: list[str]) -> dict[str, dict[str, Any]]:
    """The profiles whose tables can be read; they are laid over the rest, ``require`` key by key."""
    found = source.table.get("profile", {})
    if not isinstance(found, dict) or not all(isinstance(table, dict) for table in found.values()):
        mistakes.append(f"{source.place('profile')}: profile must hold tables, as in [profile.train.require]")
        return {}
    return found


def _no_profile(name: str, profiles: Iterable[str], source: Source) -> str:
    known = ", ".join(sorted(profiles)) or "none is defined"
    return f"--ascend-env-profile: no profile {name!r}{_nearest(name, profiles)}; known: {known}" + (
        f" (in {source.file})" if source.file else ""
    )


def _named(file: str, cwd: Path) -> Source:
    source = toml_source.load(cwd / file, file)
    if source is None:
        raise SettingsError(f"{file}: has no [tool.ascend-env] table")
    return source


def _find(folders: Iterable[Path], cwd: Path) -> Source:
    """The settings of the first folder that has any; two sources in one folder are a mistake."""
    for folder in folders:
        here = [folder / toml_source.FILE, folder / "pyproject.toml"]
        found = [s for path in here if path.is_file() and (s := toml_source.load(path, _shown(path, cwd)))]
        if len(found) > 1:
            raise SettingsError(f"{found[1].file}: [tool.ascend-env] and {found[0].file} both exist; keep one of them")
        if found:
            return found[0]
    return Source()


def _shown(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _values(source: Source, table: dict[str, Any], above: tuple[str, ...], mistakes: list[str]) -> dict[str, Any]:
    types = typing.get_type_hints(Declared, include_extras=True)
    reserved = RESERVED if not above else ("require", "waive")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in reserved:
            continue
        where = f"{source.place(*above, key)}: {'.'.join((*above, key))} = {value!r}"
        if key not in types:
            known = ", ".join(sorted([*types, *reserved]))
            mistakes.append(f"{where}: no such key{_nearest(key, [*types, *reserved])}; known: {known}")
        elif text := _type_mistake(value, types[key]) or _name_mistake(key, value):
            mistakes.append(f"{where}: {text}")
        else:
            values[key] = _from_file(source, value) if key in PATHS else value
    return values


def _given_mistakes(values: Mapping[str, Any]) -> list[str]:
    texts = ((key, value, _name_mistake(key, value)) for key, value in values.items())
    return [f"--ascend-env-{key}: {value!r}: {text}" for key, value, text in texts if text]


PATHS = ("data", "cache", "hostfile", "launch_cwd", "program_cwd")
"""Keys whose relative paths are looked up from the folder of the settings file."""


NAMES = (*PATHS, "launch", "program")


def _name_mistake(key: str, value: Any) -> str:
    """What is wrong with the name of a file or folder, or ''. An empty one would stand for the working folder."""
    names = value if isinstance(value, list) else [value]
    if key in NAMES and any(isinstance(name, str) and (not name.strip() or "\0" in name) for name in names):
        return "found an empty name (or one with a NUL); expected the name of a file or folder"
    return ""


def _from_file(source: Source, value: Any) -> Any:
    if isinstance(value, list):
        return [_from_file(source, each) for each in value]
    return os.path.join(os.path.dirname(source.file), os.path.expanduser(value))


def _started_in(source: Source, values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A script or program that the file names is started in the file's folder, unless it says otherwise."""
    folder = os.path.dirname(source.file)
    return {f"{key}_cwd": folder for key in ("launch", "program") if folder and key in values and key not in given}


def _type_mistake(value: Any, wanted: Any) -> str:
    """What is wrong with a value of a settings key, or ''."""
    if typing.get_origin(wanted) is dict and isinstance(value, dict):
        texts = ((key, item, _type_mistake(item, typing.get_args(wanted)[1])) for key, item in value.items())
        return next((f"{key} = {item!r}: {text}" for key, item, text in texts if text), "")
    choices = [
        c
        for t in (wanted, *typing.get_args(wanted))
        if typing.get_origin(t) is typing.Literal
        for c in typing.get_args(t)
    ]
    if choices and value not in choices:
        return f"expected one of {', '.join(map(repr, choices))}{_nearest(value, choices)}"
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return str(error).replace("`", "").replace(" - at $", " at ").replace("Expected", "expected")
    return ""


def _required(
    source: Source, table: dict[str, Any], above: tuple[str, ...], checks: Mapping[str, Check], mistakes: list[str]
) -> dict[str, Requirement]:
    raw = table.get("require", {})
    path = (*above, "require")
    if not isinstance(raw, dict):
        mistakes.append(f"{source.place(*path)}: {'.'.join(path)} must be a table of preconditions, found {raw!r}")
        return {}
    found = {}
    for name, value in raw.items():
        keys = (*path, name)
        requirement = _requirement(name, value, source.place(*keys), ".".join(keys), checks, mistakes)
        if requirement is not None:
            found[name] = requirement
    return found


def _from_command_line(
    words: Sequence[str], checks: Mapping[str, Check], mistakes: list[str]
) -> dict[str, Requirement]:
    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        value = toml_source.parse_value(text) if equals else True
        requirement = _requirement(name.strip(), value, "--ascend-env-require", name.strip(), checks, mistakes)
        if requirement is not None:
            found[name.strip()] = requirement
    return found


def _requirement(
    name: str, value: Any, where: str, key: str, checks: Mapping[str, Check], mistakes: list[str]
) -> Requirement | None:
    written = f"{key} = {value!r}" if value is not True else key
    if name not in checks:
        known = ", ".join(sorted(checks))
        mistakes.append(f"{where}: {written}: no such precondition{_nearest(name, checks)}; known: {known}")
        return None
    if value is False:
        return Requirement(checks[name], None, DROPPED, where)
    args, kwargs = _arguments(value)
    try:
        wanted = read_arguments(checks[name], args, kwargs)
    except ValueError as error:
        mistakes.append(f"{where}: {written}: {error}")
        return None
    return Requirement(checks[name], wanted, _call(checks[name], args, kwargs), where)


DROPPED = "not required"  # ``NAME = false``: drops what the file or the base of a profile asks for


def _without_dropped(settings: Settings) -> Settings:
    kept = {name: r for name, r in settings.required.items() if r.written != DROPPED}
    return replace(settings, required=kept, dropped=frozenset(settings.required) - frozenset(kept))


def _arguments(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A settings value as the arguments of the marker of that name."""
    if value is True:
        return (), {}
    if isinstance(value, list):
        return tuple(value), {}
    if isinstance(value, dict):
        return (), value
    return (value,), {}


def _call(check: Check, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    words = [*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())]
    return f"{check.name}({', '.join(words)})" if words else check.name


def _waivers(
    source: Source, table: dict[str, Any], above: tuple[str, ...], checks: Mapping[str, Check], mistakes: list[str]
) -> dict[str, Waiver]:
    found = {}
    raw = table.get("waive", [])
    for number, entry in enumerate(raw if isinstance(raw, list) else [raw], 1):
        try:
            waiver = msgspec.convert(entry, Waiver)
        except msgspec.ValidationError as error:
            text = str(error).replace("`", "").replace(" - at $", " at ")
            mistakes.append(
                f"{source.place(*above, 'waive')}: waive entry {number}: {text}; allowed: {_fields(Waiver)}"
            )
            continue
        if waiver.precondition not in checks:
            hint = _nearest(waiver.precondition, checks)
            mistakes.append(
                f"{source.place(*above, 'waive')}: waive entry {number}: no precondition {waiver.precondition!r}{hint}"
            )
        found[waiver.precondition] = waiver
    return found


def _fields(struct: type[msgspec.Struct]) -> str:
    return ", ".join(struct.__struct_fields__)


def _nearest(word: Any, known: Iterable[Any]) -> str:
    close = difflib.get_close_matches(str(word), [str(k) for k in known], n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


__all__ = ["Given", "Settings", "SettingsError", "Waiver", "read"]
