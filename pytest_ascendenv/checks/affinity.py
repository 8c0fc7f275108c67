"""affinity_mode: what CPU_AFFINITY_CONF does, not what it says."""

from __future__ import annotations

import shlex
from typing import Any, Literal

from pytest_ascendenv.affinity.effect import CONF, Effect
from pytest_ascendenv.affinity.grammar import Ignored
from pytest_ascendenv.affinity.rewrite import suggest
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Fact, Finding, Verdict

REFERENCE = "Ascend/pytorch: docs/zh/api/environment_variable/performance_tuning/CPU_AFFINITY_CONF.md"
_MODES = {"off": "off", "coarse": "coarse", "fine": "fine", "0": "off", "1": "coarse", "2": "fine"}
_SAYS = {
    "off": "no binding",
    "coarse": "coarse binding: all threads of a rank on its NPU's block of cores",
    "fine": "fine binding: the main thread and three more pinned to one core each",
    "crash": "torch_npu ends at its first NPU call",
}


class AffinityMode:
    """The binding that a job started from here gets must be the one that is asked for."""

    name = "affinity_mode"
    when: Literal["before"] = "before"

    def parse(self, mode: Any) -> str:
        if isinstance(mode, bool) or str(mode) not in _MODES:
            raise ValueError(f"found {mode!r}, allowed: {_ALLOWED}")
        return _MODES[str(mode)]

    def judge(self, wanted: str, env: AscendEnv) -> Finding:
        effects = env.affinity.effects
        if env.declared.framework == "mindspore":
            return _never_read(wanted, env)
        met = {effect.outcome == wanted for effect in effects}
        if len(met) > 1:
            return _depends(wanted, env)
        if met == {True}:
            return _finding(wanted, env, Verdict.PASS)
        return _failed(wanted, env)


_ALLOWED = '"off", "coarse" or "fine" (or 0, 1, 2)'


def _never_read(wanted: str, env: AscendEnv) -> Finding:
    """MindSpore has no reader of the variable (no occurrence in its 2.10.0 wheel), so nothing is bound by it."""
    verdict = Verdict.PASS if wanted == "off" else Verdict.FAIL
    notes = (f"MindSpore never reads {CONF}: it has no effect",) if env.affinity.text else ()
    return Finding(
        "affinity_mode",
        verdict,
        _SAYS[wanted],
        f"{_SAYS['off']}: MindSpore does not read {CONF}",
        "this process",
        (env.affinity.conf, env.affinity.framework, *env.cpu.facts()),
        "" if verdict is Verdict.PASS else f"{CONF} is read by torch_npu alone",
        "" if verdict is Verdict.PASS else f"bind with {env.binders.living()}",
        REFERENCE,
        notes,
    )


def _depends(wanted: str, env: AscendEnv) -> Finding:
    """Unknown, with what each release would do."""
    each = "; ".join(f"torch_npu {effect.releases}: {effect.outcome}" for effect in env.affinity.effects)
    return _finding(
        wanted,
        env,
        Verdict.UNKNOWN,
        found=f"it depends on the release of torch_npu: {each}",
        cause=f"the release is not known ({env.affinity.release.reason})",
        fix='declare it in the settings, such as torch_npu_release = "7.3.0", or write a value that acts alike in all',
    )


def _failed(wanted: str, env: AscendEnv) -> Finding:
    first = env.affinity.effects[0]
    detail = first.binding.table() if first.devices_known and first.binding.binds else ""
    return _finding(wanted, env, Verdict.FAIL, cause=_causes(wanted, env), fix=_fix(wanted, env), detail=detail)


def _finding(
    wanted: str, env: AscendEnv, verdict: Verdict, found: str = "", cause: str = "", fix: str = "", detail: str = ""
) -> Finding:
    return Finding(
        "affinity_mode",
        verdict,
        _SAYS[wanted],
        found or _found(env),
        "this process",
        _evidence(env),
        cause,
        fix,
        REFERENCE,
        _notes(env),
        detail,
    )


def _found(env: AscendEnv) -> str:
    """The effect; with the string where there is one, as it is what people look for."""
    outcomes = dict.fromkeys(effect.outcome for effect in env.affinity.effects)
    text = ", or ".join(_SAYS[outcome] for outcome in outcomes)
    known = env.affinity.conf.status == "known"
    return f"{text} ({CONF}={env.affinity.text!r})" if known else f"{text} ({CONF} is not set)"


def _evidence(env: AscendEnv) -> tuple[Fact, ...]:
    release = env.affinity.release
    return (env.affinity.conf, *((release,) if release.status != "unset" else ()), *env.cpu.facts())


def _notes(env: AscendEnv) -> tuple[str, ...]:
    effects = env.affinity.effects
    notes = _ignored(effects)
    for effect in effects:
        notes += [effect.note] if effect.note else []
        notes += effect.binding.notes if effect.devices_known else ()
    if env.affinity.text and env.affinity.framework.status == "conditional":
        notes.append(
            f"nothing in this environment reads {CONF}: it has mindspore and no torch_npu ({env.binders.living()})"
        )
    return tuple(dict.fromkeys(notes))


def _ignored(effects: tuple[Effect, ...]) -> list[str]:
    """Each token without effect, with the releases where not all in question ignore it alike."""
    releases: dict[Ignored, list[str]] = {}
    for effect in effects:
        for one in effect.binding.ignored:
            releases.setdefault(one, []).append(effect.releases)
    notes = []
    for one, where in releases.items():
        place = f" in torch_npu {', '.join(where)}" if len(where) < len(effects) else ""
        notes.append(
            f"{one.token!r} is ignored{place}: {one.why}" + (f"; probably meant: {one.meant}" * bool(one.meant))
        )
    return notes


def _causes(wanted: str, env: AscendEnv) -> str:
    causes: dict[str, list[str]] = {}
    for effect in env.affinity.effects:
        causes.setdefault(_cause(wanted, effect, env), []).append(effect.releases)
    if len(causes) == 1:
        return next(iter(causes))
    return "; ".join(f"torch_npu {', '.join(where)}: {cause}" for cause, where in causes.items())


def _cause(wanted: str, effect: Effect, env: AscendEnv) -> str:
    if effect.why:
        return effect.why
    if wanted == "coarse" and effect.outcome == "fine":
        return "mode 2 pins the hot threads to one core each, which a neighbour's load on that core halves"
    if wanted == "fine" and effect.binding.mode == "fine":
        return "no NPU has enough cores for one per kind of thread, so all share the block"
    return f"the value asks for {effect.outcome} binding" if env.affinity.text else f"{CONF} is not set"


def _fix(wanted: str, env: AscendEnv) -> str:
    affinity = env.affinity
    first = affinity.effects[0]
    if wanted == "off":
        return f"unset {CONF}"
    value = suggest(affinity.text, wanted, first.binding, lambda text: affinity.does(text) == {wanted})
    if value:
        return f"export {CONF}={shlex.quote(value)}"
    ranges = "name cores inside the mask for every visible NPU (npu0:first-last, …)"
    return f"start the job without the narrower mask, or {ranges}; from torch_npu 26.1 force:1 skips this check"
