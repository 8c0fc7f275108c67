"""single_device: a preprocessing run needs one NPU and no parallelism, whatever the training script asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks.on_launch import SUPPLY
from pytest_ascendenv.checks.quantities import show_bytes, size
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv

ONE = ("nodes", "devices_per_node", "tensor_parallel", "pipeline_parallel", "num_layers")
NO_MEMORY = 'the memory of the workers is not judged: single_device = { worker_memory = "2 GB" }'
FIXES = {
    "nodes": "NNODES=1",
    "devices_per_node": "NPUS_PER_NODE=1",
    "tensor_parallel": "TP=1",
    "pipeline_parallel": "PP=1",
    "num_layers": "num_layers: 1 (with pipeline_num_layers to match) in the model's configuration",
}


@dataclass(frozen=True)
class Wanted:
    """Bytes one preprocessing worker may need; None: memory is not judged."""

    worker_memory: int | None = None


class SingleDevice:
    """One node, one NPU, TP = PP = 1, one layer; the preprocessing workers fit the usable cores and free memory."""

    name = "single_device"
    when: Literal["before", "after"] = "before"

    def parse(self, worker_memory: Any = None) -> Wanted:
        return Wanted(None if worker_memory is None else size(worker_memory, "worker_memory"))

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        facts = [fact for name in ONE for fact in env.launch.facts(name) if not _absent(fact)]
        over = [fact for fact in facts if fact.status in ("known", "unset") and fact.value != 1]
        workers = env.launch.fact("preprocessing_workers")
        too_many = _too_many(workers, wanted, env)
        if not over and not too_many:
            self._certain([*facts, workers], env)
        fixes = [FIXES[fact.name] for fact in over] + (["fewer preprocessing workers"] if too_many else [])
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if over or too_many else Verdict.PASS,
            expected="one node, one NPU, TP = PP = 1, one layer, and workers that fit",
            found=", ".join([*(f"{fact.name} = {fact.value}" for fact in over), *too_many]) or "all of it",
            subject=env.launch.name,
            evidence=(*facts, workers),
            cause="a preprocessing run uses one NPU; the others are occupied for nothing" if over else "",
            fix="; ".join(dict.fromkeys(fixes)),
            notes=() if wanted.worker_memory else (NO_MEMORY,),
        )

    def _certain(self, facts: list[Fact], env: AscendEnv) -> None:
        for fact in facts:
            if fact.status in ("unknown", "conditional"):
                value = f"{fact.value} only if " if fact.status == "conditional" else ""
                raise Unknown(f"{fact.name}: {value}{fact.reason} ({SUPPLY})")
        if env.launch.description.incomplete:
            raise Unknown(f"{env.launch.name} was not read whole: {env.launch.description.incomplete}")


def _absent(fact: Fact) -> bool:
    """A launch that names no number of layers has none to reduce."""
    return fact.name == "num_layers" and (fact.value is None and fact.status == "unset")


def _too_many(workers: Fact, wanted: Wanted, env: AscendEnv) -> list[str]:
    if not isinstance(workers.value, int) or workers.status not in ("known", "unset"):
        return []
    found = []
    if workers.value > env.cpu.usable:
        found.append(f"{workers.value} workers on {env.cpu.usable} usable cores")
    if wanted.worker_memory is not None:
        free = _available(env)
        if workers.value * wanted.worker_memory > free:
            need = show_bytes(workers.value * wanted.worker_memory)
            found.append(f"{workers.value} workers need {need}, {show_bytes(free)} are available")
    return found


def _available(env: AscendEnv) -> int:
    """MemAvailable in bytes."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", env.host.read("/proc/meminfo"), re.MULTILINE)
    if match is None:
        raise Unknown("/proc/meminfo: no MemAvailable")
    return int(match[1]) * 1024
