"""Whether the input pipeline has the workers that are wanted, and the cores for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from pytest_ascendenv.checks.training import machine, observation, subject
from pytest_ascendenv.training.dataset import DEFAULT_WORKERS
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.training.dataset import Operation
    from pytest_ascendenv.training.record import Observation

REFERENCE = "MindSpore tutorials, dataset/optimize: the workers of all operations must not exceed the CPU cores"


class MinWorkers:
    """Every parallel stage has at least ``n`` workers that act, and all of them fit the usable cores."""

    name = "min_workers"
    when: Literal["before", "after"] = "after"

    def parse(self, n: int) -> int:
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"n is {n!r}; it must be a whole number of workers")
        if n < 1:
            raise ValueError(f"n is {n}; it must be at least 1")
        return n

    def judge(self, wanted: int, env: AscendEnv) -> Finding:
        seen = observation(env)
        trees = used(seen)
        if not trees:
            return _nothing(self, wanted, env, seen)
        stages = [one for _, tree in trees for one in tree if one.parallel]
        short = [one for one in stages if one.workers < wanted]
        busiest = max((_sum(tree), place) for place, tree in trees)
        cores = _cores(env, seen)
        return Finding(
            self.name,
            Verdict.FAIL if short or busiest[0] > cores else Verdict.PASS,
            _expected(wanted, cores),
            _found(short, stages, *busiest, cores),
            subject=subject(env),
            evidence=(*(_fact(one, place) for place, tree in trees for one in tree if one.parallel), *_default(seen)),
            cause=_cause(short, busiest[0], cores),
            fix=_fix(short, wanted, busiest[0], cores),
            reference=REFERENCE,
            notes=tuple(_notes(stages, seen, busiest[0], cores)),
        )


def used(seen: Observation) -> list[tuple[str, tuple[Operation, ...]]]:
    """The trees that feed training, with the place; where no training call says, all that were iterated."""
    fed = [(call.title, call.operations) for call in seen.calls if call.operations]
    return list(dict.fromkeys(fed or [(one.site, one.operations) for one in seen.datasets]))


def _cores(env: AscendEnv, seen: Observation) -> float:
    """The usable cores; no limit for a program captured on a CPU machine, since it will train on another one."""
    return math.inf if seen.captured and seen.on_cpu else int(env.cpu.usable)


def _expected(wanted: int, cores: float) -> str:
    least = f"at least {wanted} workers at every parallel stage"
    return least if cores == math.inf else f"{least}, {cores} usable cores for all of them"


def _sum(tree: Sequence[Operation]) -> int:
    return sum(one.workers for one in tree if one.parallel)


def _found(short: Sequence[Operation], stages: Sequence[Operation], total: int, place: str, cores: float) -> str:
    parts = [f"{one.title} has {one.workers}" for one in short]
    if total > cores:
        parts.append(f"{total} workers in sum for {cores} usable cores ({place})")
    return "; ".join(parts) or f"{min(one.workers for one in stages)} or more at {len(stages)} stages, {total} in sum"


def _fact(one: Operation, place: str) -> Fact:
    asked = "" if one.asked in (None, one.workers) else f"asked for {one.asked}, "
    value = f"{one.workers} ({asked}{one.workers_source})"
    return Fact(one.title, value, place, reason=one.idle)


def _default(seen: Observation) -> Iterator[Fact]:
    """The number of workers of stages that were given none, where the captured program says it."""
    left = any(one.parallel and one.asked is None for _, tree in used(seen) for one in tree)
    found = (call.facts[DEFAULT_WORKERS] for call in seen.calls if DEFAULT_WORKERS in call.facts)
    yield from (list(found)[:1] if left else ())


def _cause(short: Sequence[Operation], total: int, cores: float) -> str:
    reasons = [f"{one.title}: {one.idle}" for one in short if one.idle]
    reasons += [
        f"{one.kind} uses 1 worker unless told otherwise"
        for one in short
        if one.workers_source == "default" and one.workers == 1 and not one.idle
    ]
    if total > cores:
        reasons.append(f"{total} workers share {cores} cores and wait for each other")
    return "; ".join(dict.fromkeys(reasons))


def _fix(short: Sequence[Operation], wanted: int, total: int, cores: float) -> str:
    actions = []
    if any(one.idle for one in short):
        actions.append("give GeneratorDataset an object with __getitem__ and __len__, not a generator")
    if any(not one.idle for one in short):
        names = ", ".join(dict.fromkeys(one.title for one in short if not one.idle))
        actions.append(f"num_parallel_workers={wanted} for {names}")
    if total > cores:
        actions.append(f"share {cores} cores out among the stages, or let the process use more of them")
    return "; ".join(actions)


def _notes(stages: Sequence[Operation], seen: Observation, total: int, cores: float) -> list[str]:
    notes = [
        f"the workers of {one.title} are threads that share Python's lock; python_multiprocessing=True makes processes"
        for one in stages
        if one.python and not one.multiprocessing and not one.idle and one.workers > 1
    ]
    notes += [f"stages without a number have {one.value}: {one.reason}" for one in _default(seen) if one.reason]
    if cores == math.inf:
        notes.append(f"{total} workers in sum; whether the cores of the training host carry them is not known here")
    return [*dict.fromkeys(notes), *seen.notes, *machine(seen)]


def _nothing(check: MinWorkers, wanted: int, env: AscendEnv, seen: Observation) -> Finding:
    if seen.calls:
        raise Unknown(f"the dataset of {seen.calls[0].title} is no mindspore.dataset pipeline that could be read")
    return Finding(
        check.name,
        Verdict.FAIL,
        f"at least {wanted} workers at every parallel stage",
        f"no dataset was seen in {env.subject}",
        subject=env.subject,
        cause="no training call and no iterator of a mindspore.dataset pipeline was seen while it ran",
        fix="use the dataset inside the test (train on it, iterate it, or hand it to the throughput fixture)",
    )
