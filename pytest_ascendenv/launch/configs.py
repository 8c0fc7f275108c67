"""Configuration files as leaves: dotted key path -> value with file and line, from JSON and YAML."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ascendenv.launch import text as texts
from pytest_ascendenv.verdict import Unknown

DEEPEST = 40
LARGEST = 20_000  # leaves; anchors can multiply a small file
BASES = 8  # files a __BASE__ chain may have


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar (or an empty container) and where it stands."""

    value: Any
    file: str
    line: int
    path: str

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line} {self.path}"


@dataclass(frozen=True)
class Config:
    """One configuration with its bases merged. ``notes`` tell what a reader of the facts should know."""

    name: str
    leaves: Mapping[str, Leaf] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """Whether the path is a leaf or holds some."""
        return any(True for _ in self.under(path))

    def under(self, path: str) -> Iterator[Leaf]:
        """The leaves at or below a path; ``*`` stands for one key, ``**`` for any number."""
        matcher = _matcher(path)
        return (leaf for key, leaf in self.leaves.items() if matcher.match(key))


def _matcher(path: str) -> re.Pattern[str]:
    parts = [{"*": "[^.]+", "**": ".+?"}.get(part, re.escape(part)) for part in path.split(".")]
    text = r"\.".join(parts).replace(r".+?\.", r"(?:.+?\.)?")
    return re.compile(f"{text}(?:\\.|$)")


def load(path: Path, name: str) -> Config:
    """The configuration; raises Unknown with the place where it cannot be read or parsed."""
    return _load(path, name, 0)


def _load(path: Path, name: str, depth: int) -> Config:
    if depth > BASES:
        raise Unknown(f"{name}: more than {BASES} files in a chain of __BASE__")
    source = texts.read(path, name)
    reader = _json if path.suffix.lower() == ".json" else _yaml
    leaves, documents = reader(source.text, name)
    notes = list(source.notes)
    if documents > 1:
        notes.append(f"{name}: {documents} documents; the first one holds the values")
    merged: dict[str, Leaf] = {}
    for leaf in [leaf for key, leaf in leaves.items() if re.fullmatch(r"__BASE__(\.\d+)?|base_config", key)]:
        base = _base(path, name, str(leaf.value), depth)
        merged = overlay(merged, base.leaves)
        notes += base.notes
    return Config(name, overlay(merged, leaves), tuple(notes))


def _base(path: Path, name: str, base: str, depth: int) -> Config:
    shown = os.path.normpath(os.path.join(os.path.dirname(name), base))
    return _load(path.parent / base, shown, depth + 1)


def overlay(below: Mapping[str, Leaf], above: Mapping[str, Leaf]) -> dict[str, Leaf]:
    """Both, the second winning; a list or scalar replaces everything below its path."""
    roots = set(above) | {_list_root(key) for key in above}
    kept = {key: leaf for key, leaf in below.items() if not any(prefix in roots for prefix in _prefixes(key))}
    return {**kept, **above}


def _list_root(key: str) -> str:
    return re.split(r"\.\d+(?:\.|$)", key, maxsplit=1)[0] if re.search(r"\.\d+(\.|$)", key) else key


def _prefixes(key: str) -> Iterator[str]:
    parts = key.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))


# -- YAML ----------------------------------------------------------------------------------------------------


def _yaml(text: str, name: str) -> tuple[dict[str, Leaf], int]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    found: dict[str, Leaf] = {}
    documents = 0
    try:
        while loader.check_node():
            node = loader.get_node()
            documents += 1
            if documents == 1 and node is not None:
                _walk(node, (), found, loader, name)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        raise Unknown(f"{where}: not valid YAML ({getattr(error, 'problem', None) or error})") from error
    finally:
        loader.dispose()
    return found, documents


def _walk(node: Any, path: tuple[str, ...], found: dict[str, Leaf], loader: Any, name: str) -> None:
    import yaml

    if len(path) > DEEPEST or len(found) > LARGEST:
        raise Unknown(
            f"{name}: deeper than {DEEPEST} or more than {LARGEST} values (anchors can multiply a small file)"
        )
    key, line = ".".join(path), node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.value:
        for each, value in _pairs(node, name):
            _walk(value, (*path, str(loader.construct_object(each))), found, loader, name)
    elif isinstance(node, yaml.SequenceNode) and node.value:
        for number, item in enumerate(node.value):
            _walk(item, (*path, str(number)), found, loader, name)
    else:
        found[key] = Leaf(_scalar(node, loader), name, line, key)


def _pairs(node: Any, name: str, depth: int = 0) -> list[tuple[Any, Any]]:
    """The pairs of a mapping; those merged with ``<<`` first, so that its own win."""
    import yaml

    if depth > DEEPEST:
        raise Unknown(f"{name}: merges nested deeper than {DEEPEST}")
    merged, own = [], []
    for key, value in node.value:
        if key.tag != "tag:yaml.org,2002:merge":
            own.append((key, value))
            continue
        for source in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
            if isinstance(source, yaml.MappingNode):
                merged += _pairs(source, name, depth + 1)
        if len(merged) > LARGEST:
            raise Unknown(f"{name}: merges give more than {LARGEST} values")
    last = {key.value: (key, value) for key, value in [*merged, *own] if isinstance(key.value, str)}
    return list(last.values())


def _scalar(node: Any, loader: Any) -> Any:
    """The value as PyYAML resolves it (``None`` is a string, ``no`` is False); a tag of the user's is plain text."""
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        return [] if isinstance(node, yaml.SequenceNode) else {}
    try:
        return loader.construct_object(node)
    except yaml.YAMLError:
        return node.value


# -- JSON ----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def _json(text: str, name: str) -> tuple[dict[str, Leaf], int]:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unknown(f"{name}{line}: not valid JSON ({getattr(error, 'msg', 'nested too deep')})") from error
    return _Json(text, name).leaves(), 1


class _Json:
    """The leaves of a text that is known to be valid, with their lines."""

    def __init__(self, text: str, name: str) -> None:
        self.name, self.found = name, dict[str, Leaf]()
        self.tokens = _TOKEN.finditer(text)
        self.text, self.at, self.line = text, 0, 1

    def leaves(self) -> dict[str, Leaf]:
        self.value(self.next(), ())
        return self.found

    def next(self) -> str:
        match = next(self.tokens)
        self.line += self.text.count("\n", self.at, match.start())
        self.at = match.start()
        return match.group()

    def value(self, token: str, path: tuple[str, ...]) -> None:
        if len(path) > DEEPEST or len(self.found) > LARGEST:
            raise Unknown(f"{self.name}: deeper than {DEEPEST} or more than {LARGEST} values")
        if token == "{":
            self.members(path)
        elif token == "[":
            self.items(path)
        else:
            self.leaf(json.loads(token), path)

    def leaf(self, value: Any, path: tuple[str, ...]) -> None:
        key = ".".join(path)
        self.found[key] = Leaf(value, self.name, self.line, key)

    def members(self, path: tuple[str, ...]) -> None:
        token = self.next()
        if token == "}":
            return self.leaf({}, path)
        while True:
            key = str(json.loads(token))
            self.next()
            self.value(self.next(), (*path, key))
            if self.next() == "}":
                return None
            token = self.next()

    def items(self, path: tuple[str, ...]) -> None:
        token, number = self.next(), 0
        if token == "]":
            return self.leaf([], path)
        while True:
            self.value(token, (*path, str(number)))
            number += 1
            if self.next() == "]":
                return None
            token = self.next()
