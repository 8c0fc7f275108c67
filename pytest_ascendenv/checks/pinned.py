"""pinned_cores: fine binding on a host that other jobs use too, judged without a measurement."""

from __future__ import annotations

from typing import Literal

from pytest_ascendenv.affinity.effect import CONF
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.verdict import Finding, Verdict


class PinnedCores:
    """Fine binding pins the hot threads of a job to single cores; no other job may claim them.

    Judged without measuring: other torch_npu jobs by their thread names, and jobs of one visible NPU on a host with
    more, each of which pins itself to cores 0 to 3.
    """

    name = "pinned_cores"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        hot = hot_cores(env)
        cause, fix = _collision(env, hot) if hot else ("", "")
        return Finding(
            self.name,
            Verdict.FAIL if cause else Verdict.PASS,
            "pinned cores that no other job claims",
            f"threads pinned to cores {cpulist.show(hot)}" if hot else "no thread is pinned to a core of its own",
            "this host",
            (env.affinity.conf, env.affinity.devices),
            cause,
            fix,
            "Ascend/pytorch: NPUAffinityController.cpp; vllm-ascend issue 8600" if cause else "",
            detail=env.affinity.effects[0].binding.table() if cause else "",
        )


def hot_cores(env: AscendEnv) -> frozenset[int]:
    """The cores with a thread of their own, over the releases in question; raises Unknown where no NPU tells them."""
    affinity = env.affinity
    if affinity.framework.value == "mindspore" or all(one.outcome != "fine" for one in affinity.effects):
        return frozenset()
    if not all(one.devices_known for one in affinity.effects):
        return _unseen(env)
    devices = (device for one in affinity.effects if one.outcome == "fine" for device in one.binding.devices)
    return frozenset(core for device in devices for core in device.hot)


def _unseen(env: AscendEnv) -> frozenset[int]:
    return frozenset(core for device in env.affinity.binding.devices for core in device.hot)  # raises Unknown


def _collision(env: AscendEnv, hot: frozenset[int]) -> tuple[str, str]:
    fix = f"export {CONF}=1, which leaves the threads their block of cores"
    for job in env.foreign_npu_jobs:
        if job.cores & hot:
            return f"another torch_npu job claims cores {cpulist.show(job.cores & hot)}: {job}", fix
    if len(env.npus.visible) == 1 and env.npus.installed > 1 and _whole_machine(env):
        return (
            f"this job sees one of {env.npus.installed} NPUs, so its block is the whole machine and it pins itself to "
            f"cores {cpulist.show(hot)}, as every other job of one NPU does",
            f"{fix}, or give each job its own cores (npu0:first-last)",
        )
    return "", ""


def _whole_machine(env: AscendEnv) -> bool:
    """Whether the block of the only visible NPU is all that the kernel grants, as no npuN range narrows it."""
    device = env.affinity.effects[0].binding.devices[0]
    return device.hot | set(device.others or ()) >= set(env.cpu.granted)
