"""The usual preconditions turned to a launch script: what the job will get, read before it is started."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.launch.subjects import Described

CONF = "CPU_AFFINITY_CONF"
SUPPLY = "say what only run time knows: launch_env, nnodes or hostfile in the settings, or arguments behind the script"


def judge(name: str, wanted: Any, env: AscendEnv) -> Finding:
    """The finding of one precondition about the declared launch script; raises Unknown where it cannot be told.

    KeyError where the precondition does not speak of launches (see ``JUDGES``).
    """
    finding = JUDGES[name](wanted, env)
    doubt = env.launch.description.incomplete
    if finding.verdict is Verdict.PASS and doubt:
        raise Unknown(f"{env.launch.name} was not read whole: {doubt}")
    return finding


def by_fact(name: str, fact_name: str, expected: str, met: Callable[[Any], bool], fix: str, env: AscendEnv) -> Finding:
    """Every launch must meet it: a certain miss fails, and what is not certain is never a pass."""
    found = env.launch.facts(fact_name)
    missed = [fact for fact in found if fact.status in ("known", "unset") and not met(fact.value)]
    if not missed:
        for fact in found:
            _certain(fact)
    shown = missed or found
    return Finding(
        precondition=name,
        verdict=Verdict.FAIL if missed else Verdict.PASS,
        expected=expected,
        found=", ".join(dict.fromkeys(_value(fact) for fact in shown)),
        subject=env.launch.name,
        evidence=found,
        cause=_cause(missed[0]) if missed else "",
        fix=fix if missed else "",
        reference="the script and its configurations, line by line: python -m pytest_ascendenv facts --launch",
    )


def _certain(fact: Fact) -> Any:
    value = fact.get()
    if fact.status == "conditional":
        raise Unknown(f"{fact.name} is {fact.value} only if {fact.reason} ({SUPPLY})")
    return value


def _value(fact: Fact) -> str:
    return f"{fact.name} = {fact.value}" + (" (not set: the default)" if fact.status == "unset" else "")


def _cause(fact: Fact) -> str:
    if fact.value == "not applicable":
        return fact.source
    if fact.status == "unset":
        return f"{fact.name} is not set, and the default ({fact.source}) is {fact.value}"
    return f"written at {fact.source}"


def _graph(wanted: Any, env: AscendEnv) -> Finding:
    fix = "write mode: 0 (GRAPH_MODE) in the configuration, or --mode 0 on the command"
    return by_fact("graph_mode", "execution_mode", "GRAPH_MODE", lambda value: value == "GRAPH_MODE", fix, env)


def _amp(wanted: str, env: AscendEnv) -> Finding:
    fix = f"write amp_level: {wanted} where the framework reads it"
    return by_fact("amp_level", "amp", f"AMP level {wanted}", lambda value: value == wanted, fix, env)


def _sink(wanted: Any, env: AscendEnv) -> Finding:
    fix = "switch the data sink on (dataset_sink_mode, sink_mode: True)"
    return by_fact("sink_mode", "sink_mode", "data sinking", lambda value: value is True, fix, env)


def _workers(wanted: int, env: AscendEnv) -> Finding:
    fix = f"give the loader {wanted} workers (--num-workers, num_parallel_workers)"
    expected = f"{wanted} loader workers or more"
    return by_fact(
        "min_workers", "loader_workers", expected, lambda value: isinstance(value, int) and value >= wanted, fix, env
    )


def _affinity(wanted: str, env: AscendEnv) -> Finding:
    """The binding of each launch, simulated on this host with the value the launch gets."""
    findings = [_affinity_of(wanted, described, env) for described in _different(env)]
    order = {Verdict.FAIL: 0, Verdict.UNKNOWN: 1, Verdict.PASS: 2}
    return min(findings, key=lambda finding: order[finding.verdict])


def _different(env: AscendEnv) -> list[Described]:
    """One launch for each way of binding."""
    unique = {
        (str(each.facts["affinity"]), each.launch.wrappers if each.launch else ()): each for each in env.launch.launches
    }
    return list(unique.values())


def _affinity_of(wanted: str, described: Described, env: AscendEnv) -> Finding:
    from pytest_ascendenv.checks import load

    fact = described.facts["affinity"]
    if fact.status in ("unknown", "conditional"):
        return _untold("affinity_mode", wanted, fact, env)
    finding = load("affinity_mode").judge(wanted, _started(fact, env))
    evidence = (fact, *(each for each in finding.evidence if each.name != CONF))
    notes = tuple(f"it is started by {wrapper}: its mask is not simulated" for wrapper in _masks(described))
    return replace(finding, subject=described.name, evidence=evidence, notes=(*finding.notes, *notes))


def _started(fact: Fact, env: AscendEnv) -> AscendEnv:
    """This host as the launch will find it: its environment with the launch's value."""
    from pytest_ascendenv.environment import AscendEnv as Env

    environ = {name: value for name, value in env.host.environ.items() if name != CONF}
    if fact.status == "known":
        environ[CONF] = str(fact.value)
    return Env(host=replace(env.host, environ=environ), declared=env.declared, subject=env.launch.name)


def _masks(described: Described) -> list[str]:
    wrappers = described.launch.wrappers if described.launch else ()
    return [each for each in wrappers if each.split()[0] in ("taskset", "numactl")]


def _untold(name: str, wanted: str, fact: Fact, env: AscendEnv) -> Finding:
    found = f"{CONF} is {fact.value} only if {fact.reason}" if fact.status == "conditional" else fact.reason
    return Finding(name, Verdict.UNKNOWN, f"{wanted} binding", found, env.launch.name, (fact,), fix=SUPPLY)


def _storage(wanted: Any, env: AscendEnv) -> Finding:
    """The data and cache paths of every launch, or the named paths."""
    import msgspec

    from pytest_ascendenv.checks import load
    from pytest_ascendenv.environment import AscendEnv as Env

    check = load("local_storage")
    if wanted.paths:
        return check.judge(wanted, env)
    facts = (*env.launch.facts("data_paths"), *env.launch.facts("cache_paths"))
    for fact in facts:
        _certain(fact)
    paths = list(dict.fromkeys(_absolute(path, env) for fact in facts for path in fact.value or []))
    if not paths:
        raise Unknown(f"{env.launch.name} names no data path")
    declared = msgspec.structs.replace(env.declared, data=paths)
    finding = check.judge(wanted, Env(host=env.host, declared=declared, subject=env.launch.name))
    return replace(finding, subject=env.launch.name, evidence=(*facts, *finding.evidence))


def _absolute(path: str, env: AscendEnv) -> str:
    """A path as the launch sees it; a name without a slash may be a data set of a hub."""
    if path.startswith("~"):
        return os.path.expanduser(path)
    cwd = next((each.launch.cwd for each in env.launch.launches if each.launch and each.launch.cwd), None)
    if not path.startswith("/") and cwd is None:
        raise Unknown(f"{path}: the working directory of the launch is not known")
    return os.path.normpath(os.path.join(cwd or "/", path))


JUDGES: dict[str, Callable[[Any, AscendEnv], Finding]] = {
    "affinity_mode": _affinity,
    "graph_mode": _graph,
    "amp_level": _amp,
    "sink_mode": _sink,
    "min_workers": _workers,
    "local_storage": _storage,
}
"""Precondition -> how it judges the launch script, where one is declared."""
