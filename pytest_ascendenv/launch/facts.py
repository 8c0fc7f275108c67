"""The facts of a launch by name: command line, then the files it names, then the framework's default."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ascendenv.launch import decode, processes
from pytest_ascendenv.launch.configs import Config, Leaf
from pytest_ascendenv.launch.flags import Flags
from pytest_ascendenv.launch.model import Launch, Word
from pytest_ascendenv.launch.tables import FACTS, FRAMEWORKS, UNRECOGNISED, Framework, Rule
from pytest_ascendenv.verdict import Fact

COMMON = {"tensor_parallel": 1, "pipeline_parallel": 1, "preprocessing_workers": 1, "nodes": 1}


@dataclass(frozen=True)
class Subject:
    """What facts are read from: a launch (None for configurations alone), its files, and what could not be read."""

    launch: Launch | None
    configs: tuple[Config, ...] = ()
    unread: tuple[str, ...] = ()
    supplied: dict[str, Any] | None = None

    @property
    def arguments(self) -> Flags:
        return Flags(self.launch.arguments if self.launch else ())

    @property
    def options(self) -> Flags:
        return Flags(self.launch.options if self.launch else ())


def framework(subject: Subject) -> Framework:
    """The framework whose program, flags or keys these are; ``UNRECOGNISED`` where nothing gives it away."""
    program = subject.launch.program if subject.launch else None
    for each in FRAMEWORKS:
        if any(
            config.has(keys[0]) and all(config.has(key) for key in keys)
            for config in subject.configs
            for keys in each.keys
        ):
            return each
    for each in FRAMEWORKS:
        if subject.arguments.present(each.flags):
            return each
    for each in FRAMEWORKS:
        if program and any(re.search(pattern, program) for pattern in each.programs):
            return each
    return UNRECOGNISED


def facts(subject: Subject) -> dict[str, Fact]:
    """Every fact by name, in a fixed order."""
    chosen = framework(subject)
    return {name: _fact(name, subject, chosen) for name in FACTS}


def _fact(name: str, subject: Subject, chosen: Framework) -> Fact:
    if subject.supplied and name in subject.supplied:
        return Fact(name, subject.supplied[name], "given in the settings")
    special = SPECIAL.get(name)
    if special is not None and subject.launch is not None:
        found = special(subject)
        if found is not None:
            return replace(found, name=name)
    if name == "devices_per_node" and subject.launch is None and chosen.name == "accelerate":
        return _accelerate(subject) or Fact.unknown(name, "accelerate counts the devices at run time")
    rule = chosen.facts.get(name)
    if rule is None:
        return _without_rule(name, subject, chosen)
    return by_rule(name, rule, subject, chosen)


def _without_rule(name: str, subject: Subject, chosen: Framework) -> Fact:
    generic = by_rule(name, UNRECOGNISED.facts[name], subject, chosen) if name in UNRECOGNISED.facts else None
    if generic is not None and generic.status in ("known", "conditional"):
        return generic
    if name in COMMON and chosen is not UNRECOGNISED:
        return Fact.unset(name, COMMON[name], f"{chosen.name} has no such option")
    if name in ("cache_paths", "num_layers", "affinity"):
        return Fact.unset(name, "0" if name == "affinity" else None)
    return generic or Fact.unknown(name, f"{chosen.name} says it nowhere that is read")


def by_rule(name: str, rule: Rule, subject: Subject, chosen: Framework) -> Fact:
    """One fact by its rule."""
    if rule.kind == "paths":
        return _paths(name, rule, subject)
    word = _from_flags(rule, subject)
    if word is not None and word.status != "unset":
        return decode.word(name, rule.kind, word)
    hidden = word.reason if word is not None else ""
    leaf = _leaf(rule.keys, subject.configs, rule.kind)
    if leaf is not None:
        return _unless(_switched(decode.leaf(name, rule.kind, leaf), rule, subject), hidden)
    return _default(name, rule, subject, chosen, hidden)


def _unless(fact: Fact, hidden: str) -> Fact:
    """A fact that words of the command line, which are not known, may contradict."""
    if not hidden or fact.status not in ("known", "unset"):
        return fact
    return Fact(fact.name, fact.value, fact.source, "conditional", hidden)


def _from_flags(rule: Rule, subject: Subject) -> Word | None:
    flags, hidden = subject.arguments, None
    for flag, meaning in rule.words.items():
        word = flags.last([flag])
        if word is not None and word.status == "unset":
            hidden = word
        elif word is not None and str(word.value).lower() != "false":
            return replace(word, value=meaning)
    word = flags.last(rule.flags) if rule.flags else None
    overriding = flags.override(rule.keys)
    if overriding is not None or (word is not None and word.status != "unset"):
        return overriding if overriding is not None else word
    return _of_accelerate(rule, subject) or word or hidden


def _of_accelerate(rule: Rule, subject: Subject) -> Word | None:
    """``accelerate launch --mixed_precision bf16``, which the program gets through the environment."""
    if subject.launch is None or subject.launch.launcher != "accelerate" or "--mixed_precision" not in rule.flags:
        return None
    return subject.options.last(["--mixed_precision"])


def _leaf(keys: Sequence[str], configs: Sequence[Config], kind: str) -> Leaf | None:
    """The first value of these keys; one that turns mixed precision off yields to another that turns it on."""
    found = [
        leaf
        for key in keys
        for config in configs
        for leaf in config.under(key)
        if leaf.value not in ({}, []) and decode.plausible(kind, leaf.value)
    ]
    on = [leaf for leaf in found if decode.amp(leaf.value) != "off"] if kind == "amp" else []
    return next(iter([*on, *found]), None)


def _switched(fact: Fact, rule: Rule, subject: Subject) -> Fact:
    """A key that only acts while another one is on."""
    if not rule.needs or fact.status != "known":
        return fact
    switch = _leaf((rule.needs,), subject.configs, "switch")
    if switch is None or decode.switch(switch.value) is not False:
        return fact
    return Fact.unset(fact.name, rule.default, switch.source, f"{rule.needs} is off, so {fact.source} does not act")


def _default(name: str, rule: Rule, subject: Subject, chosen: Framework, hidden: str) -> Fact:
    if subject.unread and rule.keys:
        return Fact.unknown(name, f"it may stand in {'; '.join(subject.unread)}")
    if rule.default is None and not rule.origin:
        return Fact.unknown(name, f"not set, and the default of {_the(chosen)} is not known here")
    value = decode.default(rule)
    if hidden:
        return Fact(name, value, rule.origin, "conditional", hidden)
    return Fact.unset(name, value, rule.origin)


def _the(chosen: Framework) -> str:
    return "the program, whose framework is not recognised," if chosen is UNRECOGNISED else chosen.name


def _paths(name: str, rule: Rule, subject: Subject) -> Fact:
    """All paths found, with the place of the first; placeholders are not paths."""
    flags = (*rule.flags, *(UNRECOGNISED.facts[name].flags if name == "data_paths" else ()))
    found, hidden = _given_paths(flags, rule, subject)
    if not found:
        found = _written_paths(rule, subject.configs)
    found = [(v, s, r) for v, s, r in found if not re.fullmatch(r"[\d.]+", str(v))]  # weights between Megatron's paths
    if not found:
        if subject.unread:
            return Fact.unknown(name, f"it may stand in {'; '.join(subject.unread)}")
        return _unless(Fact.unset(name, rule.default or [], rule.origin), hidden)
    return _unless(_listed(name, found), hidden)


def _given_paths(flags: Sequence[str], rule: Rule, subject: Subject) -> tuple[list[tuple[Any, str, str]], str]:
    """Paths of the command line as (value, source, doubt), and which of its words may hide more."""
    words = subject.arguments.values(flags) if flags else []
    found: list[tuple[Any, str, str]] = [
        (word.value, word.source, word.reason if word.status != "known" else "") for word in words
    ]
    if not any(not re.fullmatch(r"[\d.]+", value or "x") for value, _, _ in found):
        found = []
    overriding = subject.arguments.override(rule.keys)
    if overriding is not None:
        found.append((overriding.value, overriding.source, overriding.reason))
    last = subject.arguments.last(flags) if flags else None
    return found, last.reason if last is not None and last.status in ("unset", "conditional") else ""


def _written_paths(rule: Rule, configs: Sequence[Config]) -> list[tuple[Any, str, str]]:
    """Paths of configurations; those below a root are joined with it."""
    leaves = [leaf for key in rule.keys for config in configs for leaf in config.under(key)]
    leaves = [leaf for leaf in leaves if isinstance(leaf.value, str) and leaf.value.strip()]
    root = _leaf((rule.root,), configs, "text") if rule.root else None
    if root is None or not isinstance(root.value, str) or not root.value.strip():
        return [(leaf.value, leaf.source, "") for leaf in leaves]
    if not leaves:
        return [(root.value, root.source, "")]
    return [(os.path.join(root.value, leaf.value), leaf.source, "") for leaf in leaves]


def _listed(name: str, found: Sequence[tuple[Any, str, str]]) -> Fact:
    values = list(dict.fromkeys(part for value, _, _ in found for part in _split(value)))
    source = ", ".join(dict.fromkeys(source for _, source, _ in found if source))
    unknown = [reason for value, _, reason in found if value is None]
    placeholders = [value for value in values if decode.placeholder(value)]
    if unknown:
        return Fact.unknown(name, unknown[0], source)
    if placeholders:
        return Fact.unknown(name, f"{placeholders[0]!r} is a placeholder", source)
    reasons = [reason for _, _, reason in found if reason]
    return Fact(name, values, source, "conditional", reasons[0]) if reasons else Fact(name, values, source)


def _split(value: Any) -> list[str]:
    text = str(value)
    if text.startswith("[") and text.endswith("]"):
        return [part.strip(" '\"") for part in text[1:-1].split(",") if part.strip()]
    return [part for part in text.split(",") if part] if "," in text and "/" in text else [text]


# -- facts that the launcher tells --------------------------------------------------------------------------------


def _affinity(subject: Subject) -> Fact | None:
    """CPU_AFFINITY_CONF as the launch gets it: exported, or in the runtime_env of a Ray configuration."""
    assert subject.launch is not None
    word = subject.launch.env.get("CPU_AFFINITY_CONF")
    if word is not None:
        return decode.word("affinity", "text", word)
    leaf = _leaf(("env_vars.CPU_AFFINITY_CONF", "**.env_vars.CPU_AFFINITY_CONF"), subject.configs, "text")
    if leaf is not None:
        return decode.leaf("affinity", "text", leaf)
    if subject.launch.doubts or subject.unread:
        return Fact.unknown("affinity", f"it may be set by {'; '.join([*subject.launch.doubts, *subject.unread])}")
    return Fact.unset(
        "affinity", "0", "torch_npu", "neither the script nor the given environment sets CPU_AFFINITY_CONF"
    )


@dataclass(frozen=True)
class Spelling:
    """How one launcher names the number of nodes and of devices on each, with its defaults."""

    nodes: tuple[str, ...]
    devices: tuple[str, ...]
    nodes_default: int | None = 1
    devices_default: int | None = 1


TORCH = Spelling(("--nnodes",), ("--nproc-per-node", "--nproc_per_node"))
SPELLINGS = {
    "torchrun": TORCH,
    "torch.distributed.launch": TORCH,
    "torch.distributed.run": TORCH,
    "torch_npu.distributed.launch": TORCH,
    "torch_npu_run": TORCH,
    "deepspeed": Spelling(("--num_nodes",), ("--num_gpus",), None, None),
    "srun": Spelling(("--nodes", "-N"), ("--ntasks-per-node",), None, None),
    "python": Spelling((), ()),
}


def _nodes(subject: Subject) -> Fact | None:
    assert subject.launch is not None
    launcher = subject.launch.launcher
    if launcher == "msrun":
        return _ratio(subject, "--worker_num", 8, "--local_worker_num", 8, "msrun")
    if launcher == "accelerate":
        return _launcher("nodes", subject, ("--num_machines",), None)
    if (one := _one_of_several("nodes", subject)) is not None:
        return one
    spelling = SPELLINGS.get(launcher)
    return _launcher("nodes", subject, spelling.nodes, spelling.nodes_default) if spelling else None


def _devices(subject: Subject) -> Fact | None:
    assert subject.launch is not None
    launcher = subject.launch.launcher
    if launcher == "msrun":
        return _launcher("devices_per_node", subject, ("--local_worker_num",), 8)
    if launcher == "accelerate":
        return _accelerate(subject)
    if (one := _one_of_several("devices_per_node", subject)) is not None:
        return one
    spelling = SPELLINGS.get(launcher)
    return _launcher("devices_per_node", subject, spelling.devices, spelling.devices_default) if spelling else None


def _one_of_several(name: str, subject: Subject) -> Fact | None:
    """What the environment of a plain python tells, unless the framework has an option for it."""
    if subject.launch is None or subject.launch.launcher != "python" or name in framework(subject).facts:
        return None
    return processes.one_of_several(subject.launch.env, name)


def _launcher(name: str, subject: Subject, names: Sequence[str], default: int | None) -> Fact | None:
    assert subject.launch is not None
    word = subject.options.last(names) if names else None
    if word is not None and word.status != "unset":
        return decode.word(name, "count", word)
    rules = framework(subject).facts
    if name in rules and _leaf(rules[name].keys, subject.configs, "count") is not None:
        return None
    if default is None or (name in rules and subject.launch.launcher == "python"):
        return None
    origin = f"{subject.launch.launcher}'s default" if names else f"one process, started by {subject.launch.launcher}"
    if word is not None:
        return Fact(name, default, origin, "conditional", word.reason)
    return Fact.unset(name, default, origin)


def _ratio(subject: Subject, total: str, total_default: int, local: str, local_default: int, who: str) -> Fact:
    """Nodes of msrun: all workers over those of one node."""
    whole, part = (subject.options.last([name]) for name in (total, local))
    facts_ = [
        decode.word("nodes", "count", word) for word in (whole, part) if word is not None and word.status != "unset"
    ]
    bad = next((fact for fact in facts_ if fact.status == "unknown"), None)
    if bad is not None:
        return bad
    numbers = [
        default if word is None or word.value is None else int(word.value)
        for word, default in ((whole, total_default), (part, local_default))
    ]
    source = ", ".join(fact.source for fact in facts_) or f"{who}'s defaults"
    if not numbers[1] or numbers[0] % numbers[1]:
        return Fact.unknown("nodes", f"{total} {numbers[0]} is no multiple of {local} {numbers[1]}", source)
    if not facts_:
        return Fact.unset("nodes", numbers[0] // numbers[1], source)
    reasons = "; ".join(fact.reason for fact in facts_ if fact.reason)
    return Fact("nodes", numbers[0] // numbers[1], source, "conditional" if reasons else "known", reasons)


def _accelerate(subject: Subject) -> Fact | None:
    given = subject.options.last(["--num_processes"])
    leaf = _leaf(("num_processes",), subject.configs, "count")
    total = decode.leaf("devices_per_node", "count", leaf) if leaf is not None else None
    if given is not None and given.status != "unset":
        total = decode.word("devices_per_node", "count", given)
    machines = _launcher("nodes", subject, ("--num_machines",), None) if subject.launch is not None else None
    nodes = machines or by_rule(
        "nodes", Rule("count", (), ("num_machines",), 1, "accelerate"), subject, framework(subject)
    )
    if total is None or total.status == "unknown" or not isinstance(nodes.value, int) or not nodes.value:
        return total or Fact.unknown("devices_per_node", "accelerate counts the devices at run time")
    return replace(total, value=total.value // nodes.value)


SPECIAL: dict[str, Callable[[Subject], Fact | None]] = {
    "affinity": _affinity,
    "nodes": _nodes,
    "devices_per_node": _devices,
}
