"""launch_rules: what went wrong before, found in the script before it is started."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.launch.subjects import Described

CONF = "CPU_AFFINITY_CONF"
REFERENCE = (
    "Ascend/pytorch: torch_npu/csrc/core/npu/NPUAffinityController.cpp, "
    "docs/zh/api/environment_variable/performance_tuning/CPU_AFFINITY_CONF.md"
)
DEVICES = 16  # NPUs of the largest server; only the mode is read here, which does not depend on them


@dataclass(frozen=True)
class Hit:
    """One rule that speaks: ``fails`` or only warns; the facts it speaks of."""

    rule: str
    text: str
    facts: tuple[Fact, ...]
    fix: str = ""
    fails: bool = True
    unsure: str = ""


class LaunchRules:
    """No launch may fork workers under fine binding (mode 2 or more), nor may two binders act at once.

    Beside the verdict it notes: a variable exported again with another value, a loader flag that overrides the
    configuration, and a comment that says the opposite of the value.
    """

    name = "launch_rules"
    when: Literal["before", "after"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: Any, env: AscendEnv) -> Finding:
        hits = list(dict.fromkeys(hit for described in env.launch.launches for hit in rules(described, env)))
        bad = [hit for hit in hits if hit.fails and not hit.unsure]
        unsure = [hit for hit in hits if hit.fails and hit.unsure]
        if unsure and not bad:
            raise Unknown("; ".join(f"{hit.text} if {hit.unsure}" for hit in unsure))
        if env.launch.description.incomplete and not bad:
            raise Unknown(f"{env.launch.name} was not read whole: {env.launch.description.incomplete}")
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if bad else Verdict.PASS,
            expected="workers that keep their cores, and one binder at most",
            found="; ".join(hit.text for hit in bad) or "no rule speaks against it",
            subject=env.launch.name,
            evidence=_facts(bad or hits),
            cause="; ".join(dict.fromkeys(CAUSES[hit.rule] for hit in bad)),
            fix="; ".join(dict.fromkeys(hit.fix for hit in bad if hit.fix)),
            reference=REFERENCE if bad else "",
            notes=tuple(hit.text for hit in hits if not hit.fails),
        )


CAUSES = {
    "forked workers": "mode 2 pins the main thread to one core, and every process forked from it inherits that core",
    "two binders": "torch_npu skips its binding where the mask is already narrowed, so one of the two is void",
}


def _facts(hits: list[Hit]) -> tuple[Fact, ...]:
    return tuple({str(fact): fact for hit in hits for fact in hit.facts}.values())


def rules(described: Described, env: AscendEnv) -> Iterator[Hit]:
    """What each rule says of one launch."""
    yield from _forked(described, env)
    yield from _binders(described, env)
    yield from _overridden(described)
    yield from _loader(described)
    yield from _comments(described, env)


def modes(fact: Fact, env: AscendEnv) -> set[int | None]:
    """The modes that the releases in question read in a value (they differ in "1,2"); None where it is not known."""
    from pytest_ascendenv.affinity import grammar, releases

    if fact.status == "unknown":
        return {None}
    declared = env.declared.torch_npu_release
    found: set[int | None] = set()
    for release in (declared,) if declared else releases.CURRENT:
        with contextlib.suppress(grammar.Overflow):  # torch_npu ends at its start: affinity_mode says so
            rules_ = releases.rules(release)
            mode = grammar.read(str(fact.value), rules_, DEVICES).mode
            found.add(0 if mode > 2 and rules_.generation == "B" else mode)
    return found


def _forked(described: Described, env: AscendEnv) -> Iterator[Hit]:
    """Mode >= 2 with workers forked for preprocessing, unless it is done on the fly."""
    affinity, workers = described.facts["affinity"], described.facts["preprocessing_workers"]
    found = modes(affinity, env) | ({None} if affinity.status == "conditional" else set())
    fine = {mode is None or mode >= 2 for mode in found}
    if True not in fine or _on_the_fly(described) or (isinstance(workers.value, int) and workers.value <= 1):
        return
    if workers.status == "unknown" and None in found:
        return  # nothing points at the pair; each fact's own precondition tells that it is not known
    many = "an unknown number of" if workers.status == "unknown" else str(workers.value)
    value = f"{CONF}={affinity.value}" if None not in found else f"a {CONF} that may ask for mode 2"
    text = f"{many} preprocessing workers are forked under {value}"
    doubts = [fact.reason for fact in (affinity, workers) if fact.status in ("unknown", "conditional")]
    doubts += ["the release of torch_npu reads it so"] if len(fine) > 1 and not doubts else []
    where = f" at {affinity.source}" if affinity.source else ""
    fix = f"export {CONF}=1 (or 0){where}, or preprocess with one worker"
    yield Hit("forked workers", text, (affinity, workers), fix, True, "; ".join(doubts))


def _on_the_fly(described: Described) -> bool:
    from pytest_ascendenv.launch import decode

    leaves = [leaf for config in described.configs for leaf in config.under("**.preprocess_on_fly")]
    return any(decode.switch(leaf.value) is True for leaf in leaves)


def binders(described: Described, env: AscendEnv) -> tuple[Fact, ...]:
    """Everything of this launch that narrows where threads run."""
    affinity = described.facts["affinity"]
    found = [affinity] if affinity.status == "known" and modes(affinity, env) - {0} else []
    launch = described.launch
    if launch is None:
        return tuple(found)
    for wrapper in launch.wrappers:
        if re.match(r"taskset\b|numactl\b.*(-N|-C|--cpunodebind|--physcpubind)", wrapper):
            found.append(Fact("binder", wrapper, launch.source))
    from pytest_ascendenv.launch.flags import Flags

    for names in (("--bind_core",), ("--bind-to",), ("--bind_cores_to_rank",)):
        word = Flags(launch.options).last(names)
        off = word is None or str(word.value).lower() in ("false", "none")
        if word is not None and not off and word.status in ("known", "conditional"):
            found.append(Fact(f"binder {names[0]}", word.value, word.source, word.status, word.reason))
    found += _variables(described)
    return tuple(found)


def _variables(described: Described) -> list[Fact]:
    """Variables that bind on their own: mindformers' CPU_AFFINITY, OpenMP's OMP_PROC_BIND."""
    assert described.launch is not None
    found = []
    for name in ("CPU_AFFINITY", "OMP_PROC_BIND"):
        word = described.launch.env.get(name)
        if word is not None and str(word.value).lower() not in ("false", "0", "", "none"):
            found.append(Fact(f"binder {name}", word.value, word.source, word.status, word.reason))
    return found


def _binders(described: Described, env: AscendEnv) -> Iterator[Hit]:
    found = binders(described, env)
    if len(found) > 1:
        names = [fact.name.removeprefix("binder ") for fact in found]
        text = "two binders at once: " + " and ".join(f"{n} {f.value}" for n, f in zip(names, found, strict=True))
        doubts = "; ".join(fact.reason for fact in found if fact.status in ("unknown", "conditional"))
        yield Hit("two binders", text, found, f"keep one of them (drop {names[-1]})", True, doubts)


WATCHED = re.compile(
    r"CPU_AFFINITY\w*|TASK_QUEUE_ENABLE|ASCEND_\w+|PYTORCH_NPU_ALLOC_CONF|OMP_\w+|HCCL_\w+|MS_\w+|GLOG_v"
)


def _overridden(described: Described) -> Iterator[Hit]:
    """A variable that matters, exported again with another value: the last one holds."""
    for name, word in described.launch.env.items() if described.launch else ():
        for value, source in word.earlier[-1:]:
            if WATCHED.fullmatch(name) and value != word.value and source != word.source:
                fact = Fact(name, word.value, word.source, word.status, word.reason)
                text = f"{name}={value} at {source} is overridden by {name}={word.value} at {word.source}"
                yield Hit("overridden", text, (fact,), fails=False)


def _loader(described: Described) -> Iterator[Hit]:
    """``--num-workers`` (Megatron's default 2) overrides ``dataloader_param.num_workers`` of data.json."""
    fact = described.facts["loader_workers"]
    if described.launch is None:
        return
    for config in described.configs:
        for leaf in config.under("dataloader_param.num_workers"):
            if leaf.value != fact.value and leaf.source != fact.source and fact.status != "unknown":
                origin = (
                    f"--num-workers {fact.value}"
                    if fact.status != "unset"
                    else f"the default --num-workers {fact.value}"
                )
                text = f"{leaf.source} = {leaf.value} has no effect: {origin} wins"
                yield Hit("loader", text, (fact,), fails=False)


SAYS = (
    (re.compile(r"细|\bfine", re.IGNORECASE), "fine", True),
    (re.compile(r"粗|\bcoarse", re.IGNORECASE), "coarse", False),
)


def _comments(described: Described, env: AscendEnv) -> Iterator[Hit]:
    """A comment on the line of the value, or right above it, that names the other kind of binding."""
    fact = described.facts["affinity"]
    said, asked = comment(fact.source, env), modes(fact, env)
    named = [(word, fine) for pattern, word, fine in SAYS if pattern.search(said)]
    if len(named) != 1 or fact.status != "known" or None in asked:
        return
    word, fine = named[0]
    if not any((mode or 0) >= 2 if fine else mode == 1 for mode in asked):
        text = f"the comment at {fact.source} says {said!r}, but {CONF}={fact.value} is not {word} binding"
        yield Hit("comment", text, (fact,), fails=False)


def comment(source: str, env: AscendEnv) -> str:
    """The comment that goes with a line of the script, or ""."""
    read = env.launch.description.read
    if read is None or not source.rpartition(":")[2].isdigit():
        return ""
    line = read.line(source)
    if "#" in line:
        return line.partition("#")[2].strip()
    name, _, number = source.rpartition(":")
    above = read.line(f"{name}:{int(number) - 1}").strip()
    return above.lstrip("# ").strip() if above.startswith("#") else ""
