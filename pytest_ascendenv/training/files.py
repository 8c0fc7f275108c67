"""Which files and folders the user's own objects of a pipeline name: a source, a function of a map.

A program seldom tells a pipeline what it reads; it keeps a folder, or the names of all files, in its source. These are
found by their values: a text counts where a file or folder of that name exists.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

COUNTED = 1000
"""Files below a folder that are counted; more are told as so many."""
_LOOKED_AT = 32  # items of one list, evenly spread
_DEPTH = 3  # a data set inside a data set inside a data set
_HINTS = ("dir", "root", "path", "file", "folder")  # in the name of what holds a path without a separator


@dataclass(frozen=True)
class Files:
    """``count`` files of ``mean`` bytes; ``where`` is the folder, or one of them where a list names them."""

    where: str
    count: int
    mean: int


@dataclass(frozen=True)
class _Text:
    """What one name holds: a text, or ``many`` of them, of which ``texts`` are a sample."""

    name: str
    texts: tuple[str, ...]
    many: int = 0


def named(*owners: Any) -> tuple[tuple[str, ...], Files | None]:
    """The files and folders that these objects name, of listed files the folders; and the longest list."""
    seen: set[int] = set()
    held = [one for owner in owners for one in _texts(owner, "", _DEPTH, seen)]
    single = [path for one in held if not one.many for text in one.texts if (path := _existing(text, one.name))]
    folders = [text for text in single if os.path.isdir(text)]
    paths = dict.fromkeys(single)
    longest: Files | None = None
    for one in sorted((one for one in held if one.many), key=lambda one: one.many):
        listed = _files_of(one.texts, folders)
        paths |= dict.fromkeys(_tops(listed, folders))
        if 2 * len(listed) >= min(one.many, _LOOKED_AT):
            longest = _mean(listed, one.many) or longest
    return tuple(paths), longest


def plain(text: str | os.PathLike[Any]) -> str:
    """The text alone: what numpy or an enum made of it must not travel with it."""
    return str.__str__(os.fsdecode(text))


def below(folder: str) -> Files | None:
    """The first COUNTED files below a folder."""
    folder = plain(folder)
    found = (os.path.join(inner, name) for inner, _, names in os.walk(folder) for name in names)
    files = list(islice(found, COUNTED))
    counted = _mean(files, len(files))
    return Files(folder, counted.count, counted.mean) if counted else None


def _existing(text: str, name: str) -> str:
    """The file or folder that a text means, or "". ``split = "train"`` does not mean a folder of that name, ``root =
    "train"`` does. An indexed data set of Megatron's kind is named by its .bin file without the ending.
    """
    hinted = os.sep in text or any(hint in name.lower() for hint in _HINTS)
    if not hinted or len(text) >= 4096 or "\0" in text or os.path.abspath(text) == os.sep:
        return ""
    if os.path.isfile(text) or os.path.isdir(text):
        return text
    return f"{text}.bin" if os.path.isfile(f"{text}.bin") else ""


def _files_of(texts: Iterable[str], folders: Iterable[str]) -> list[str]:
    """The files that a list names, as they are or in one of the folders beside it."""
    texts = [text for text in texts if 0 < len(text) < 4096 and "\0" not in text]
    for folder in ("", *folders):
        found = [path for path in (os.path.join(folder, text) for text in texts) if os.path.isfile(path)]
        if found:
            return found
    return []


def _tops(files: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """One folder for all files of a file system, unless a known one holds them."""
    known = [os.path.abspath(folder) + os.sep for folder in known]
    by_device: dict[int, list[str]] = {}
    for folder in {os.path.dirname(os.path.abspath(file)) for file in files}:
        if not any((folder + os.sep).startswith(one) for one in known):
            by_device.setdefault(os.stat(folder).st_dev, []).append(folder)
    for device, folders in by_device.items():
        top = os.path.commonpath(folders)
        yield top if top != os.sep and os.stat(top).st_dev == device else min(folders)


def _mean(files: list[str], count: int) -> Files | None:
    sizes = []
    for file in files:
        try:
            sizes.append(os.stat(file).st_size)
        except OSError:  # a broken link, or gone by now
            continue
    return Files(files[0], count, sum(sizes) // len(sizes)) if sizes else None


def _texts(found: Any, name: str, depth: int, seen: set[int]) -> Iterator[_Text]:
    if isinstance(found, str | os.PathLike):
        yield _Text(name, (plain(found),))
        return
    if depth < 0 or id(found) in seen:
        return
    seen.add(id(found))
    if isinstance(found, list | tuple | set | frozenset | dict) or type(found).__name__ == "ndarray":
        yield from _listed(found, name, depth, seen)
    else:
        for inner, value in _members(found, top=depth == _DEPTH):
            yield from _texts(value, inner, depth - 1, seen)


def _listed(found: Any, name: str, depth: int, seen: set[int]) -> Iterator[_Text]:
    """Of a list of names, of (name, label) pairs or of records; and of the few objects that a short one holds."""
    if type(found).__name__ == "ndarray" and found.dtype.kind not in "UO":
        return
    items = _spread(found)
    texts = [text for item in items for text in _texts_in(item)]
    if texts:
        yield _Text(name, tuple(texts), len(found))
    for item in items[:4]:
        if not isinstance(item, str | int | float | list | tuple | dict):
            yield from _texts(item, name, depth - 1, seen)


def _spread(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return list(islice(found.items(), _LOOKED_AT))
    if isinstance(found, set | frozenset):
        return list(islice(found, _LOOKED_AT))
    step = max(1, len(found) // _LOOKED_AT) if getattr(found, "ndim", 1) else 1
    return list(found[::step][:_LOOKED_AT]) if getattr(found, "ndim", 1) else []


def _texts_in(item: Any) -> list[str]:
    if isinstance(item, str | os.PathLike):
        return [plain(item)]
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
    return [plain(value) for value in islice(values, 8) if isinstance(value, str | os.PathLike)]


def _members(found: Any, top: bool) -> Iterator[tuple[str, Any]]:
    """What an object holds: of a function what its code refers to, of a generator that has not run its arguments.

    Below the top only what has items itself is looked into: a tokenizer's files are no data.
    """
    if isinstance(found, partial):
        yield from (("", each) for each in (found.func, *found.args))
        yield from found.keywords.items()
    elif isinstance(found, MethodType):
        yield from (("", found.__func__), ("", found.__self__))
    elif isinstance(found, FunctionType):
        scope = inspect.getclosurevars(found)
        defaults = {k: p.default for k, p in inspect.signature(found).parameters.items()}
        for inner, value in {**scope.globals, **scope.nonlocals, **defaults}.items():
            if not isinstance(value, ModuleType | type):
                yield inner, value
    elif isinstance(found, GeneratorType):
        yield from (found.gi_frame.f_locals if found.gi_frame else {}).items()
    elif not isinstance(found, ModuleType | type) and (top or hasattr(type(found), "__getitem__")):
        yield from list(getattr(found, "__dict__", {}).items())
        for slot in getattr(type(found), "__slots__", ()):
            yield slot, getattr(found, slot, None)
        for method in ("__getitem__", "__iter__", "__next__", "__call__"):
            function = getattr(type(found), method, None)
            if isinstance(function, FunctionType):
                yield "", function
