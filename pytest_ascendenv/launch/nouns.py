"""``ascend_env.launch``: the declared launch script, read once, with its facts by name."""

from __future__ import annotations

import json
import os
import shlex
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_ascendenv.declared import Declared
from pytest_ascendenv.launch import text
from pytest_ascendenv.launch.subjects import Described, Description, describe
from pytest_ascendenv.launch.tables import FACTS
from pytest_ascendenv.verdict import Fact, Unknown


class LaunchSubject:
    """The launches of ``launch = "SCRIPT [ARGS]"``. Nothing of it is executed."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    @cached_property
    def words(self) -> list[str]:
        if not self._declared.launch:
            raise Unknown('no launch script is declared (launch = "SCRIPT [ARGS]")')
        try:
            words = shlex.split(self._declared.launch)
        except ValueError as error:
            raise Unknown(f"launch = {self._declared.launch!r}: {error}") from error
        if not words:
            raise Unknown("launch is empty")
        return words

    @property
    def name(self) -> str:
        return self.words[0]

    @cached_property
    def description(self) -> Description:
        """The script with its launches and their configurations; raises Unknown where it cannot be read."""
        cwd = os.path.abspath(self._declared.launch_cwd or os.getcwd())
        supplied: dict[str, Any] = {} if self.nodes is None else {"nodes": self.nodes}
        return describe(self.words[0], self.words[1:], self._declared.launch_env, cwd, supplied)

    @cached_property
    def nodes(self) -> int | None:
        """The number of nodes as the user declares it, or as the host file counts them."""
        if self._declared.nnodes is not None or self._declared.hostfile is None:
            return self._declared.nnodes
        lines = text.read(Path(self._declared.hostfile)).lines
        return len([line for line in lines if line.strip() and not line.lstrip().startswith("#")])

    @property
    def launches(self) -> tuple[Described, ...]:
        """Raises Unknown where the script starts nothing that is seen, with the notes that say why."""
        found = self.description.launches
        if not found:
            why = self.description.incomplete or "; ".join(self.description.notes[-2:]) or "it starts no program"
            raise Unknown(f"no launch found in {self.description.script}: {why}")
        return found

    def facts(self, name: str) -> tuple[Fact, ...]:
        """One fact a launch, each value once; KeyError for a name that is none of ``FACTS``."""
        if name not in FACTS:
            raise KeyError(f"{name!r} is no fact of a launch: {', '.join(FACTS)}")
        unique: dict[str, Fact] = {}
        for described in self.launches:
            fact = described.facts[name]
            unique.setdefault(json.dumps([fact.status, fact.value, fact.reason], default=str), fact)
        return tuple(unique.values())

    def fact(self, name: str) -> Fact:
        """The fact all launches agree on; unknown where they differ or a launch may be missing."""
        found = self.facts(name)
        if len(found) > 1:
            values = ["unknown" if fact.status == "unknown" else fact.value for fact in found]
            each = "; ".join(f"{value} at {fact.source}" for value, fact in zip(values, found, strict=True))
            return Fact.unknown(name, f"the launches of the script differ: {each}")
        if self.description.incomplete and found[0].status != "unknown":
            return Fact.unknown(name, self.description.incomplete, found[0].source)
        return found[0]
