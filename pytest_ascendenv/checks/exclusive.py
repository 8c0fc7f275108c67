"""exclusive_host: nobody else uses the cores of this job, as measured."""

from __future__ import annotations

from typing import Literal

from pytest_ascendenv.affinity.effect import CONF
from pytest_ascendenv.checks.pinned import hot_cores
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.probes.contention import Contention
from pytest_ascendenv.verdict import Fact, Finding, Verdict

WARN, FAIL = 0.15, 0.30
"""Share of time that a pinned busy thread waited. Measured: idle up to 0.10, a neighbour at 30 % duty 0.16 to 0.27, one
busy neighbour 0.49 and more."""

STOLEN = 0.05  # share taken by the hypervisor from which on it is the cause; 0 to 0.05 is usual in a VM
PROBED = 64  # cores at most: where nothing is pinned a sample of the allowed ones tells as much
REFERENCE = "Documentation/scheduler/sched-stats.rst of the Linux kernel (/proc/<pid>/schedstat)"


class ExclusiveHost:
    """Nobody else may use the cores of this job: measured on the pinned cores, or on a sample of the allowed ones."""

    name = "exclusive_host"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        if env.foreign_npu_jobs:
            return _shared(env)
        cores = sorted(hot_cores(env) or env.cpu.allowed)
        cores = cores[:: -(-len(cores) // PROBED)]
        return _measured(cores, env.contention(cores))


def _shared(env: AscendEnv) -> Finding:
    jobs = [str(job) for job in env.foreign_npu_jobs]
    return Finding(
        "exclusive_host",
        Verdict.FAIL,
        "a host that no other job uses",
        f"{len(jobs)} other torch_npu job{'s' * (len(jobs) > 1)}",
        evidence=tuple(Fact("torch_npu job", job, "/proc/*/task/*/comm") for job in jobs),
        cause=jobs[0],
        fix=f"wait for its end, or export {CONF}=1 and give each job its own cores",
        reference="Ascend/pytorch: NPUAffinityController.cpp, the names of its threads",
    )


def _measured(cores: list[int], seen: Contention) -> Finding:
    cause, fix = _cause(seen) if seen.worst > FAIL else ("", "")
    worst = max(seen.waits, key=lambda core: seen.waits[core])
    notes = [str(one) for one in seen.intruders if not cause]
    if WARN < seen.worst <= FAIL:
        notes.insert(0, f"a thread on core {worst} waited {seen.worst:.0%} of the time: somebody uses it now and then")
    return Finding(
        "exclusive_host",
        Verdict.FAIL if cause else Verdict.PASS,
        "a host that no other job uses",
        f"a busy thread on core {worst} waits {seen.worst:.0%} of the time",
        evidence=(
            Fact("probed cores", cpulist.show(cores), "3 windows of 0.25 s in 3 s"),
            *(Fact("on these cores", str(one), f"/proc/{one.pid}/stat") for one in seen.intruders),
        ),
        cause=cause,
        fix=fix,
        reference=REFERENCE if cause else "",
        notes=tuple(notes),
    )


def _cause(seen: Contention) -> tuple[str, str]:
    """In the order that keeps neighbours from being blamed for what is not theirs: quota, hypervisor, own, foreign."""
    if seen.throttled:
        return (
            f"the CPU quota stopped this group {seen.throttled} times meanwhile",
            "raise the quota (cpu.max, limits.cpu)",
        )
    busy = [core for core, wait in seen.waits.items() if wait > FAIL]
    stolen = max((seen.stolen.get(core, 0.0) for core in busy), default=0.0)
    if stolen > STOLEN:
        return (
            f"the hypervisor took {stolen:.0%} of a core (steal)",
            "move the job to a host without over-committed cores",
        )
    if seen.intruders and all(one.own for one in seen.intruders):
        return f"processes of this run crowd the core: {_names(seen)}", "start the check before the run's own workers"
    foreign = [one for one in seen.intruders if not one.own]
    if foreign:
        return f"foreign load: {'; '.join(map(str, foreign))}", f"end pid {foreign[0].pid}, or move it off these cores"
    return _nameless(seen)


def _nameless(seen: Contention) -> tuple[str, str]:
    if seen.hidden:
        return (
            "foreign load that cannot be named: its processes are outside this container's PID namespace",
            "look on the host (top, per core), or run the gate with the host's PID namespace (--pid=host)",
        )
    return "load that cannot be named: processes that live too short to be seen", "look with perf sched or execsnoop"


def _names(seen: Contention) -> str:
    return "; ".join(map(str, seen.intruders))
