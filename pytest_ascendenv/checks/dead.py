"""dead_variables: set, but read by nothing in this job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pytest_ascendenv.affinity.effect import CONF
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

TORCH_NPU_ONLY: Mapping[str, str] = {
    CONF: "",
    "ASCEND_LAUNCH_BLOCKING": "MS_DEV_LAUNCH_BLOCKING",
    "PYTORCH_NPU_ALLOC_CONF": "MS_ALLOC_CONF",
    "TASK_QUEUE_ENABLE": "",
    "COMBINED_ENABLE": "",
    "HOST_CACHE_CAPACITY": "",
    "PER_STREAM_QUEUE": "",
    "MULTI_STREAM_MEMORY_REUSE": "",
}
"""Read by torch_npu, with what MindSpore reads instead. None of the names occurs in the wheel of MindSpore 2.10.0."""

MINDSPORE_ONLY: Mapping[str, str] = {
    "DATASET_ENABLE_NUMA": "numactl --cpunodebind",
    "MS_ENABLE_NUMA": "numactl --cpunodebind",
    "MS_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
    "MS_DEV_LAUNCH_BLOCKING": "ASCEND_LAUNCH_BLOCKING",
}


class DeadVariables:
    """A variable that the job's framework never reads is a setting that somebody believes in and nobody has."""

    name = "dead_variables"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        framework = env.affinity.framework
        dead = _dead(env, framework)
        return Finding(
            self.name,
            Verdict.FAIL if dead else Verdict.PASS,
            "no variable that the job never reads",
            ", ".join(dead) or "none",
            "this process",
            (framework, *(Fact(name, env.environ[name], "environment of this process") for name in dead)),
            f"{_NAMES[framework.value]} never reads {'it' if len(dead) == 1 else 'them'}" if dead else "",
            "; ".join(_instead(name, instead, env) for name, instead in dead.items()),
            "MindSpore's list of environment variables (env_var_list)" if dead else "",
            severity="warning",
        )


_NAMES = {"mindspore": "MindSpore", "torch_npu": "torch_npu"}


def _dead(env: AscendEnv, framework: Fact) -> dict[str, str]:
    """Variable -> what to use instead. Raises Unknown where one is set and the framework is not known."""
    if framework.value is None:
        suspects = [name for name in (*TORCH_NPU_ONLY, *MINDSPORE_ONLY) if name in env.environ]
        if suspects:
            raise Unknown(
                f"which framework reads {', '.join(suspects)} is not known here: "
                'declare framework = "mindspore" or "torch_npu"'
            )
        return {}
    names = TORCH_NPU_ONLY if framework.value == "mindspore" else MINDSPORE_ONLY
    return {name: instead for name, instead in names.items() if env.environ.get(name)}


def _instead(name: str, instead: str, env: AscendEnv) -> str:
    if name == CONF:
        return f"instead of {name}: {env.binders.living()}"
    return f"instead of {name}: {instead}" if instead else f"remove {name}"
