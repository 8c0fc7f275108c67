"""What the training calls really did: the mode, the precision and the sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from pytest_ascendenv.training.amp import UNCLEAR
from pytest_ascendenv.training.record import GRAPH, PYNATIVE
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.training.record import Observation, TrainingCall

LEVELS = ("O0", "O1", "O2", "O3", "auto")
"""mindspore.amp.auto_mixed_precision, 2.7 to 2.10."""

ON_CPU = "seen on a CPU: MindSpore found no NPU here, the Ascend host was not asked"
CAPTURED_ON_CPU = "captured on a CPU: what the program asks of Ascend was let pass and is judged as asked"


class GraphMode:
    """The training call must run as a graph. The default of MindSpore is PyNative since 2.0."""

    name = "graph_mode"
    when: Literal["before", "after"] = "after"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        return _judge(self.name, GRAPH, env, _runs_as_graph)


class AmpLevel:
    """The network must train at this AMP level, as its cells say, whatever ``Model`` was told."""

    name = "amp_level"
    when: Literal["before", "after"] = "after"

    def parse(self, level: str) -> str:
        if level not in LEVELS:
            raise ValueError(f"level is {level!r}; allowed are {', '.join(map(repr, LEVELS))}")
        return level

    def judge(self, wanted: str, env: AscendEnv) -> Finding:
        return _judge(self.name, f"AMP level {wanted}", env, lambda call: _trains_at(wanted, call))


class SinkMode:
    """``Model.train`` or ``fit`` must be told to sink the data, in a mode in which the sink acts."""

    name = "sink_mode"
    when: Literal["before", "after"] = "after"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        return _judge(self.name, "dataset_sink_mode=True, and a sink that acts", env, _sinks)


class Judged:
    """What one training call comes to: ``fault`` is empty where it meets what is wanted."""

    def __init__(
        self,
        call: TrainingCall,
        found: str,
        evidence: Sequence[Fact],
        *,
        fault: str = "",
        fix: str = "",
        notes: Sequence[str] = (),
        reference: str = "",
    ) -> None:
        self.call = call
        self.found = found
        self.evidence = tuple(evidence)
        self.fault = fault
        self.fix = fix
        self.notes = tuple(notes)
        self.reference = reference


def observation(env: AscendEnv) -> Observation:
    """What was seen of the test, or of the declared program; raises Unknown where neither is there."""
    seen: Observation = env.observed if env.observed is not None else env.program.observation
    if seen.unread:
        raise Unknown(seen.unread[0])
    return seen


def subject(env: AscendEnv) -> str:
    """What the observation speaks of."""
    return env.subject if env.observed is not None else str(env.declared.program)


def machine(seen: Observation) -> list[str]:
    """What a reader must know of the machine it was seen on."""
    if not seen.on_cpu:
        return []
    return [CAPTURED_ON_CPU if seen.captured else ON_CPU]


def _judge(name: str, expected: str, env: AscendEnv, rule: Callable[[TrainingCall], Judged]) -> Finding:
    """Every training call must meet the rule; the first that does not is the finding."""
    seen = observation(env)
    if not seen.calls:
        return _nothing(name, expected, env, seen)
    judged = [rule(call) for call in seen.calls]
    wrong = [one for one in judged if one.fault]
    first = (wrong or judged)[0]
    others = [f"also {one.call.title}: {one.found}" for one in wrong[1:]]
    if wrong and len(wrong) < len(judged):
        others.append(f"{len(judged) - len(wrong)} of {len(judged)} training calls meet it")
    notes = [*(note for one in judged for note in one.notes), *others, *seen.notes]
    return Finding(
        name,
        Verdict.FAIL if wrong else Verdict.PASS,
        expected,
        f"{first.found} at {first.call.title}",
        subject=subject(env),
        evidence=first.evidence,
        cause=first.fault,
        fix=first.fix,
        reference=first.reference,
        notes=tuple(dict.fromkeys([*notes, *machine(seen)])),
    )


def _nothing(name: str, expected: str, env: AscendEnv, seen: Observation) -> Finding:
    refused = seen.refused[-1:]
    cause = (
        "Model.train, Model.fit, data_sink and gradient steps were watched while it ran; none was called. "
        "A double put in place of Model.train, or training in another process, is not seen."
    )
    fix = "call the code that trains inside the test, or remove the marker"
    if refused:
        cause = f'Model(amp_level="{refused[0].level}") at {refused[0].site} raised {refused[0].error}'
        fix = (
            "on a CPU give Model loss_scale_manager=FixedLossScaleManager(1024, drop_overflow_update=False), or "
            "declare program = … in the settings: a captured program keeps its dynamic loss scale"
        )
    return Finding(
        name,
        Verdict.FAIL,
        expected,
        f"no training call was seen in {env.subject}",
        subject=env.subject,
        evidence=tuple(Fact("amp_level", one.level, one.site, reason="declared") for one in refused),
        cause=cause,
        fix=fix,
    )


def _runs_as_graph(call: TrainingCall) -> Judged:
    mode, off = call.facts["execution_mode"], call.facts.get("ms_jit")
    evidence = [mode, call.facts["jit_level"], *([off] if off else [])]
    reference = "MindSpore: set_context(mode), mindspore.jit; MS_JIT in the list of environment variables"
    if mode.value == GRAPH and off is None:
        return Judged(call, GRAPH, evidence)
    if off is not None:
        return Judged(
            call,
            f"{mode.value} with MS_JIT=0",
            evidence,
            fault="MS_JIT=0 turns compilation off, although the context may still say GRAPH_MODE",
            fix="unset MS_JIT before the job starts",
            reference=reference,
        )
    covered = ", ".join(call.jitted.names)
    if call.jitted.whole:
        note = f"graph by @jit: {covered} is compiled with gradient and update, all else runs in PyNative"
        return Judged(call, f"{PYNATIVE} with the step {covered} compiled", evidence, notes=[note])
    return Judged(
        call,
        f"{PYNATIVE}" + (f" with only {covered} compiled by @jit" if covered else ""),
        evidence,
        fault=f"@jit covers {covered} alone: gradient and update run operator by operator"
        if covered
        else "no graph is compiled: every operator is launched from Python",
        fix="call mindspore.set_context(mode=mindspore.GRAPH_MODE) before the network is built",
        reference=reference,
    )


def _trains_at(wanted: str, call: TrainingCall) -> Judged:
    level = call.facts["amp_level"]
    if call.precision is None:
        raise Unknown(f"AMP level of {call.title}: {level.reason}")
    evidence = [level, call.facts["keep_batchnorm_fp32"], call.facts["loss_scale"]]
    found = f"AMP level {level.value} ({call.precision})"
    if call.precision.meets(wanted):
        notes = [f"without norm layers {' and '.join(UNCLEAR.split('|'))} are the same network, it counts as both"]
        return Judged(call, found, evidence, notes=notes if call.precision.level == UNCLEAR else ())
    return Judged(
        call,
        found,
        evidence,
        fault=_why(wanted, call, level),
        fix=_level_fix(wanted, call),
        reference="MindSpore: amp.auto_mixed_precision, Model(amp_level, keep_batchnorm_fp32, loss_scale_manager)",
    )


def _why(wanted: str, call: TrainingCall, level: Fact) -> str:
    if call.facts["keep_batchnorm_fp32"].status == "known":
        return f"keep_batchnorm_fp32={call.facts['keep_batchnorm_fp32'].value} overrides what the level says"
    if level.reason.startswith("declared"):
        return f"{level.reason}: the cells decide, not the argument"
    if call.facts["amp_level"].value == "O0":
        return "nothing was cast: no amp_level reached Model, and no auto_mixed_precision the network"
    return f"the network was built at {level.value}"


def _level_fix(wanted: str, call: TrainingCall) -> str:
    if call.function.startswith("Model."):
        return f'Model(…, amp_level="{wanted}") with an optimizer and without keep_batchnorm_fp32'
    return f'net = mindspore.amp.auto_mixed_precision(net, "{wanted}") before the step function is built'


def _sinks(call: TrainingCall) -> Judged:
    asked, acts = call.facts["sink_mode"], call.facts["sink_in_effect"]
    evidence = [asked, acts, call.facts["execution_mode"], call.facts["device_target"]]
    reference = "MindSpore: Model.train(dataset_sink_mode)"
    if asked.value is not True:
        hand = not call.function.startswith("Model.")
        return Judged(
            call,
            f"dataset_sink_mode={asked.value}" if not hand else "a loop that feeds each batch from Python",
            evidence,
            fault="every step waits for its batch to be handed over from Python",
            fix="wrap the step with mindspore.data_sink(step, dataset)" if hand else _ask(call),
            reference=reference,
        )
    if call.function == "data_sink":
        notes = [] if acts.value else [f"{acts.reason}; on Ascend it acts"]
        return Judged(call, "data_sink(step, dataset)", evidence, notes=notes)
    if call.facts["execution_mode"].value == PYNATIVE:
        return Judged(
            call,
            f"dataset_sink_mode=True under {PYNATIVE}",
            evidence,
            fault='void: the docstring of Model.train says "when setting pynative mode or CPU, the training process '
            'will be performed with dataset not sink"; its code on a device then fetches step by step from a queue, '
            "and never sinks a whole epoch",
            fix="call mindspore.set_context(mode=mindspore.GRAPH_MODE) before the network is built",
            reference=reference,
        )
    notes = [] if acts.value else ["MindSpore turns the sink off on this CPU machine; on Ascend it will act"]
    return Judged(call, "dataset_sink_mode=True", evidence, notes=notes)


def _ask(call: TrainingCall) -> str:
    return f"pass dataset_sink_mode=True to {call.function} ({call.site})"
