"""What a captured program and its captor leave for each other: files in a folder of the captor's.

A file appears whole or not at all, and the first of several processes that train is the one that is heard.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ascendenv.verdict import Fact, Unknown

VARIABLE = "ASCENDENV_CAPTURE"
REPORT = "report"
REACHED = "reached"
"""As REPORT, before the throughput is measured."""
TRAINS = "trains"
"""As REPORT, before steps are run."""
END = "end"
STACK = "stack"
OUTPUT = "output"
_PLAIN = {"builtins": {"set", "frozenset", "complex", "bytearray"}, "collections": {"OrderedDict"}}


@dataclass(frozen=True)
class Order:
    """What is wanted of the child. ``captor`` is the process that started it; ``seconds`` is its whole limit.

    ``ranks`` is the declared size of the job; ``measure`` asks for the throughput of the training dataset with these
    options of ``pipeline.measure``, ``advise`` for advice on its workers; ``steps`` is how many steps are to be run and
    timed.
    """

    folder: str
    captor: int
    seconds: float
    ranks: int | None = None
    measure: dict[str, Any] | None = None
    advise: bool = False
    steps: int | None = None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Order:
        return cls(**json.loads(environ[VARIABLE]))

    def written(self) -> str:
        return json.dumps(vars(self))


@dataclass(frozen=True)
class _Unwritten:
    """Left in place of an object that cannot be written."""

    reason: str


def put(folder: str, name: str, content: Any) -> bool:
    """Leave an object; False where something of that name is there already, or the folder is gone."""
    draft = Path(folder, f"{name}.{os.getpid()}")
    try:
        draft.write_bytes(_written(content))
        os.link(draft, Path(folder, name))
    except OSError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _written(content: Any) -> bytes:
    try:
        return pickle.dumps(content)
    except Exception as error:  # whatever an object of the program's may raise
        return pickle.dumps(_Unwritten(f"{type(error).__name__}: {error}"))


def take(folder: str, name: str) -> Any:
    """The object, or None where there is none; raises Unknown where it cannot be read."""
    try:
        found = _OnlyOurs(io.BytesIO(Path(folder, name).read_bytes())).load()
    except FileNotFoundError:
        return None
    except Exception as error:  # what a program slips in may raise anything
        raise Unknown(f"what was seen of the program holds more than plain values: {error}") from None
    if isinstance(found, _Unwritten):
        raise Unknown(f"what was seen of the program could not be written down: {found.reason}")
    return found


class _OnlyOurs(pickle.Unpickler):
    """Loads this package's records and plain values; nothing that a captured program could slip in is imported."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("pytest_ascendenv.") or name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not expected here")


def plain(value: Any) -> Any:
    """The value as numbers, text and lists, so that reading it needs none of the program's own types."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    return repr(value)


def plain_fact(fact: Fact) -> Fact:
    return Fact(fact.name, plain(fact.value), fact.source, fact.status, fact.reason)
