"""program_rules: settings of one program that contradict each other, seen at its training call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ascendenv.checks.quantities import show_seconds
from pytest_ascendenv.checks.training import machine, observation, subject
from pytest_ascendenv.training.record import PYNATIVE
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.training.record import Observation, TrainingCall

TRANSFER = 256 * 2**20
"""Bytes of one sink transfer: "the limitation of data transmission per time is 256M", Model.train, 2.10."""
SLOW_BATCH = 20.0
"""Seconds a batch: older MindSpore warned of a batch slower than that under sink (mindocr issue 586)."""
QUEUE = 1900.0
"""Seconds: the default time-out of GetNext (MindSpore FAQ, data processing)."""


@dataclass(frozen=True)
class Hit:
    """One rule that speaks of some facts; ``fails``, or only warns."""

    text: str
    facts: tuple[Fact, ...]
    fix: str
    reference: str = ""
    fails: bool = True


class ProgramRules:
    """No setting of the training call is void or at odds with another one."""

    name = "program_rules"
    when: Literal["before", "after"] = "after"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        seen = observation(env)
        if not (seen.calls or seen.refused):
            raise Unknown(f"no training call was seen in {subject(env)}")
        hits = [hit for call in seen.calls for rule in RULES for hit in rule(call)]
        hits += [_refused(seen)] if seen.refused and not seen.calls else []
        hits += _slow_batches(env, seen)
        return finding(self.name, "settings that act together", hits, env, seen)


def finding(name: str, expected: str, hits: Sequence[Hit], env: AscendEnv, seen: Observation) -> Finding:
    """All that fails in one finding; what only warns stands beside it."""
    bad = [hit for hit in hits if hit.fails]
    return Finding(
        name,
        Verdict.FAIL if bad else Verdict.PASS,
        expected,
        "; ".join(dict.fromkeys(hit.text for hit in bad)) or "no rule speaks against it",
        subject=subject(env),
        evidence=tuple({str(fact): fact for hit in bad or hits for fact in hit.facts}.values()),
        fix="; ".join(dict.fromkeys(hit.fix for hit in bad if hit.fix)),
        reference="; ".join(dict.fromkeys(hit.reference for hit in bad if hit.reference)),
        notes=tuple(dict.fromkeys([*(_warning(hit) for hit in hits if not hit.fails), *seen.notes, *machine(seen)])),
    )


def _warning(hit: Hit) -> str:
    return f"{hit.text}: {hit.fix}" if hit.fix else hit.text


def _void_sink(call: TrainingCall) -> Iterator[Hit]:
    mode, sink = call.facts["execution_mode"], call.facts["sink_mode"]
    if sink.value is True and mode.value == PYNATIVE and call.function != "data_sink":
        yield Hit(
            f"the sink asked for at {sink.source} is void under {PYNATIVE}",
            (sink, mode),
            "set GRAPH_MODE, or do not ask for the sink",
            "MindSpore: Model.train",
        )


def _unscaled(call: TrainingCall) -> Iterator[Hit]:
    level, scale = call.facts["amp_level"], call.facts["loss_scale"]
    half = call.precision is not None and "fp16" in call.precision.dtypes
    if level.value == "O3" and half and scale.value is None:
        yield Hit(
            "O3 computes in fp16 without a loss scale: small gradients become zero"
            + (f" ({scale.reason})" if scale.reason else ""),
            (level, scale),
            "give a loss_scale_manager, or use O2, or bfloat16",
            "MindSpore: amp.build_train_network",
            fails=False,
        )


def _norms_in_half(call: TrainingCall) -> Iterator[Hit]:
    level, keep = call.facts["amp_level"], call.facts["keep_batchnorm_fp32"]
    if keep.status == "known" and keep.value is False and "O2" in level.reason:
        yield Hit(
            "keep_batchnorm_fp32=False takes from O2 what sets it apart from O3",
            (keep, level),
            "leave keep_batchnorm_fp32 out, or say O3",
            "MindSpore: Model(keep_batchnorm_fp32)",
            fails=False,
        )


def _graph_kernel(call: TrainingCall) -> Iterator[Hit]:
    kernel = call.facts["graph_kernel"]
    if kernel.value is True:
        yield Hit(
            f"enable_graph_kernel ({kernel.source}) is deprecated and goes in a later version",
            (kernel,),
            'set jit_config={"jit_level": "O1"} in its place',
            "MindSpore: set_context(enable_graph_kernel), a warning of 2.7 to 2.10",
            fails=False,
        )


def _partly_compiled(call: TrainingCall) -> Iterator[Hit]:
    mode = call.facts["execution_mode"]
    if mode.value == PYNATIVE and call.jitted.names and not call.jitted.whole:
        names = ", ".join(call.jitted.names)
        yield Hit(f"@jit compiles only {names}, the rest of the step runs in PyNative", (mode,), "", fails=False)


def _large_transfer(call: TrainingCall) -> Iterator[Hit]:
    size, sink = call.facts.get("batch_bytes"), call.facts["sink_mode"]
    if size is not None and sink.value is True and (size.value or 0) > TRANSFER:
        yield Hit(
            f"one column of a batch takes {size.value / 2**20:.0f} MiB, a sink transfer carries 256",
            (size, sink),
            "make the batch smaller, or hand over smaller types (uint8 images)",
            "MindSpore: Model.train",
        )


def _step_time(call: TrainingCall) -> Iterator[Hit]:
    """No rule, but what everybody wants to know of it."""
    fact = call.facts.get("step_time")
    if fact is not None:
        known = f"a step takes {show_seconds(fact.value)} ({fact.reason})" if fact.value else ""
        yield Hit(known or f"step time unknown: {fact.reason}", (), "", fails=False)


RULES: tuple[Callable[[TrainingCall], Iterator[Hit]], ...] = (
    _void_sink,
    _unscaled,
    _norms_in_half,
    _graph_kernel,
    _partly_compiled,
    _large_transfer,
    _step_time,
)


def _refused(seen: Observation) -> Hit:
    refused = seen.refused[-1]
    return Hit(
        f'Model(amp_level="{refused.level}") at {refused.site} raised {refused.error}',
        (Fact("amp_level", refused.level, refused.site),),
        "give Model an optimizer and a loss scale that this device allows",
        "MindSpore: Model, amp.build_train_network",
    )


def _slow_batches(env: AscendEnv, seen: Observation) -> Iterator[Hit]:
    """Where the throughput is known: the time of one batch against what a sink queue waits for."""
    rates = [float(measured.rate) for measured in env.measured]
    sunk = [call for call in seen.calls if call.facts["sink_mode"].value is True and call.facts["batch_size"].value]
    if not rates or not sunk or min(rates) <= 0:
        return
    batch = sunk[0].facts["batch_size"]
    seconds = batch.value / min(rates)
    if seconds > SLOW_BATCH:
        yield Hit(
            f"a batch takes {seconds:.0f} s to read, the sink's queue gives up after {QUEUE:.0f} s",
            (batch, Fact("rate", f"{min(rates):.2f} samples/s", "measured")),
            "speed the pipeline up, or make the batch smaller",
            "MindSpore FAQ, data processing: GetNext time-out",
            fails=seconds > QUEUE,
        )
