"""Host checks of the cores: cpu_mask, cpu_quota, omp_binding. They need no expected value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pytest_ascendenv.affinity import openmp
from pytest_ascendenv.affinity.binders import MSRUN
from pytest_ascendenv.affinity.effect import CONF
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.verdict import Fact, Finding, Verdict

MANY = 8
"""Cores from which on a mask of one core is a mistake: MindSpore starts 8 workers by default, all on that core."""


class CpuMask:
    """The mask and the cpuset must leave what the variables promise, and more than one core of a large host."""

    name = "cpu_mask"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        cause, fix = _broken_promise(env)
        return Finding(
            self.name,
            Verdict.FAIL if cause else Verdict.PASS,
            "a mask that leaves the cores which the variables promise",
            f"{len(env.cpu.allowed)} of {len(env.cpu.online)} cores: {cpulist.show(env.cpu.allowed)}",
            "this process",
            (*env.cpu.facts(), *_set(env.environ, CONF, MSRUN)),
            cause,
            fix,
            "sched_setaffinity(2); Ascend/pytorch: NPUAffinityController.cpp, the check before binding"
            if cause
            else "",
            detail=env.binders.table() if cause else "",
        )


def _broken_promise(env: AscendEnv) -> tuple[str, str]:
    """(cause, fix), both "" where the mask keeps every promise. Raises Unknown where releases differ on it."""
    allowed = set(env.cpu.allowed)
    if len(allowed) == 1 and len(env.cpu.online) >= MANY:
        return f"this process may use one core of {len(env.cpu.online)}", f"widen the mask ({env.binders.launcher()})"
    promised = env.binders.msrun_cores()
    if promised is not None and not allowed <= set(promised):
        return (
            f"{MSRUN} promises cores {cpulist.show(promised)}, but the mask was not narrowed to them",
            "see the warnings of msrun: without taskset it starts its workers unbound",
        )
    if len(allowed) < len(env.cpu.online) and env.affinity.text and env.affinity.framework.value != "mindspore":
        return _skipped(env)
    return "", ""


def _skipped(env: AscendEnv) -> tuple[str, str]:
    """torch_npu binds nothing where a core of its blocks is missing in the mask."""
    affinity = env.affinity
    skipped = [one for one in affinity.effects if one.binding.mode != "off" and one.outcome == "off"]
    if not skipped or affinity.mode != "off":
        return "", ""
    fix = f"start the job without the narrower mask ({env.binders.launcher()}), name cores inside it for each NPU, or"
    return skipped[0].why, f"{fix} unset {CONF}"


class CpuQuota:
    """The CPU quota must carry the threads that are started: a process that uses it up is stopped for the rest of each
    period (100 ms), which looks like a slow neighbour and is none."""

    name = "cpu_quota"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        quota, cores = env.cpu.quota, len(env.cpu.allowed)
        threads = _threads(env.environ)
        found = "no quota" if quota is None else f"a quota of {quota:g} cores on {cores} cores"
        cause, fix, note = _over(quota, cores, threads) if quota is not None and quota < cores else ("", "", "")
        return Finding(
            self.name,
            Verdict.FAIL if cause else Verdict.PASS,
            "a CPU quota that carries the threads which the variables promise",
            found,
            "this process",
            (*env.cpu.facts(), *_set(env.environ, *THREADS)),
            cause,
            fix,
            "Documentation/scheduler/sched-bwc.rst of the Linux kernel" if cause else "",
            notes=(note,) if note else (),
        )


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit the threads of numerical libraries; without OMP_NUM_THREADS they start one a core."""


def _threads(environ: Mapping[str, str]) -> dict[str, int]:
    """The limits that are set; the first number of a list ("4,2") is the outermost level."""
    first = {name: environ.get(name, "").split(",")[0].strip() for name in THREADS}
    return {name: int(value) for name, value in first.items() if value.isascii() and value.isdigit() and int(value)}


def _over(quota: float, cores: int, threads: Mapping[str, int]) -> tuple[str, str, str]:
    """Cause and fix where a variable promises more than the quota; a note where none limits the threads."""
    whole = max(1, int(quota))
    above = {name: count for name, count in threads.items() if count > whole}
    if above:
        words = ", ".join(f"{name}={count}" for name, count in above.items())
        fix = " ".join(["export", *(f"{name}={whole}" for name in above)])
        return f"{words} is more than the quota carries", fix, ""
    if "OMP_NUM_THREADS" not in threads:
        return (
            "",
            "",
            f"libraries start one thread for each of {cores} cores, and the kernel stops them at the end of the quota: "
            f"export OMP_NUM_THREADS={whole}, or ask for a cpuset of {whole} cores instead of a quota",
        )
    return "", "", ""


class OmpBinding:
    """OpenMP must not bind the main thread: workers forked later inherit its core, and other binders are overridden."""

    name = "omp_binding"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        pins = openmp.pins(env.environ)
        return Finding(
            self.name,
            Verdict.FAIL if pins else Verdict.PASS,
            "no binding by OpenMP",
            ", ".join(f"{pin.variable}={pin.value}" for pin in pins) or "OpenMP binds no threads",
            "this process",
            _set(env.environ, *openmp.VARIABLES),
            "; ".join(f"{pin.variable} {pin.effect}" for pin in pins) + _fight(env) if pins else "",
            f"unset {' '.join(pin.variable for pin in pins)}, or export OMP_PROC_BIND=false" if pins else "",
            "libgomp manual, OMP_PROC_BIND and GOMP_CPU_AFFINITY" if pins else "",
        )


def _fight(env: AscendEnv) -> str:
    others = [
        one.name
        for one in env.binders.all()
        if one.state == "acts" and one.name.split("=")[0] in (CONF, "msrun --bind_core")
    ]
    return f", against {' and '.join(others)}" if others else ", and workers forked later inherit it"


def _set(environ: Mapping[str, str], *names: str) -> tuple[Fact, ...]:
    source = "environment of this process"
    return tuple(Fact(name, environ[name], source) for name in names if name in environ)
