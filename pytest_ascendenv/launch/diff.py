"""The facts in which two launches differ, most consequential first."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_ascendenv.launch.facts import SPELLINGS
from pytest_ascendenv.launch.shown import HIDDEN, secret
from pytest_ascendenv.launch.subjects import NAMED, Described
from pytest_ascendenv.launch.tables import FRAMEWORKS, UNRECOGNISED
from pytest_ascendenv.verdict import Fact

ORDER = (
    "affinity", "preprocessing_workers", "loader_workers", "nodes", "devices_per_node", "tensor_parallel",
    "pipeline_parallel", "execution_mode", "sink_mode", "amp", "num_layers", "data_paths", "cache_paths",
)  # fmt: skip
"""What a difference costs: a job that crawls for days, then one of another size, then another model, other paths."""

RULES = {
    "affinity": "launch_rules, affinity_mode",
    "preprocessing_workers": "launch_rules",
    "loader_workers": "min_workers",
    "execution_mode": "graph_mode",
    "sink_mode": "sink_mode",
    "amp": "amp_level",
    "data_paths": "local_storage",
    "cache_paths": "local_storage",
}


@dataclass(frozen=True)
class Difference:
    """One fact that differs; ``rule`` names the preconditions that speak about it."""

    name: str
    first: Fact
    second: Fact
    rule: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "first": self.first.as_dict(), "second": self.second.as_dict(), "rule": self.rule}


def diff(first: Described, second: Described) -> list[Difference]:
    """Facts, then variables, then flags that differ. Sources do not count; what is unknown on one side does."""
    found = [
        Difference(name, first.facts[name], second.facts[name], RULES.get(name, ""))
        for name in ORDER
        if _apart(first.facts[name], second.facts[name])
    ]
    return [*found, *_variables(first, second), *_flags(first, second)]


def _apart(first: Fact, second: Fact) -> bool:
    """Whether the effects differ: a default and the same value written out do not."""
    if "unknown" in (first.status, second.status):
        return (first.status, first.reason) != (second.status, second.reason)
    return json.dumps(first.value, default=str) != json.dumps(second.value, default=str)


def _variables(first: Described, second: Described) -> Iterator[Difference]:
    ours, theirs = (each.launch.env if each.launch else {} for each in (first, second))
    for name in sorted({*ours, *theirs} - {"CPU_AFFINITY_CONF"}):
        one, other = (
            Fact.unset(name, None) if word is None else Fact(name, word.value, word.source, word.status, word.reason)
            for word in (ours.get(name), theirs.get(name))
        )
        if _apart(one, other):
            yield Difference(name, _hide(one), _hide(other))


def _hide(fact: Fact) -> Fact:
    return Fact(fact.name, HIDDEN, fact.source, fact.status) if secret(fact.name) and fact.value else fact


def _flags(first: Described, second: Described) -> Iterator[Difference]:
    ours, theirs = _pairs(first), _pairs(second)
    for name in [each for each in {**ours, **theirs} if not _told(each)]:
        one, other = ours.get(name, Fact.unset(name, None)), theirs.get(name, Fact.unset(name, None))
        if _apart(one, other):
            yield Difference(name, _hide(one), _hide(other))


@functools.cache
def _covered() -> frozenset[str]:
    """Flags whose effect is a fact already."""
    rules = [rule for each in (*FRAMEWORKS, UNRECOGNISED) for rule in each.facts.values()]
    flags = [flag for rule in rules for flag in (*rule.flags, *rule.words)]
    flags += [flag for spelling in SPELLINGS.values() for flag in (*spelling.nodes, *spelling.devices)]
    return frozenset(flag.lstrip("-").replace("_", "-") for flag in [*flags, "--worker_num", "--local_worker_num"])


def _told(flag: str) -> bool:
    return flag.lstrip("-").replace("_", "-") in _covered() or NAMED.match(flag) is not None


def _pairs(described: Described) -> dict[str, Fact]:
    """Flag -> its values; file names differ between any two scripts and are compared by their facts."""
    found: dict[str, Fact] = {}
    flag = ""
    for word in described.launch.argv if described.launch else ():
        text = word.value or ""
        if text.startswith("-") and not text[1:2].isdigit():
            flag, equals, rest = text.partition("=")
            found[flag] = Fact(flag, rest if equals else "", word.source, word.status, word.reason)
        elif flag:
            before = found[flag]
            value = " ".join(part for part in (before.value, text) if part)
            found[flag] = Fact(flag, value, word.source, word.status, word.reason)
    return found


def as_text(differences: list[Difference], first: str, second: str) -> str:
    """Both values with both places, a block a difference."""
    if not differences:
        return f"{first} and {second}: no fact differs"
    lines = [f"{first}  against  {second}", ""]
    for each in differences:
        lines.append(f"{each.name}" + (f"    <- {each.rule}" if each.rule else ""))
        lines += [f"  {_side(each.first)}", f"  {_side(each.second)}"]
    return "\n".join(lines)


def _side(fact: Fact) -> str:
    place = f"  [{fact.source}]" if fact.source else ""
    if fact.status == "unknown":
        return f"unknown ({fact.reason}){place}"
    if fact.status == "unset":
        return ("not set" if fact.value is None else f"not set, so {fact.value}") + place
    condition = f" if {fact.reason}" if fact.status == "conditional" else ""
    return f"{fact.value if fact.value != '' else '(given)'}{condition}{place}"
