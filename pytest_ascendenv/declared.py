"""What the user declares about the job beside the preconditions; each field is a settings key of that name."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from pytest_ascendenv.probes.kinds import Kind

Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Typed once, for the settings file and for the checks."""

    data: list[str] = []
    """Paths of the training data."""

    framework: Literal["mindspore", "torch_npu"] | None = None
    """What the job runs on, where the installed packages do not tell."""

    torch_npu_release: str | None = None
    """The release of the Ascend Extension for PyTorch that the job runs ("7.3.0"), where it is not installed here."""

    treat_as: dict[str, Kind] = {}
    """What kind of storage a folder is, where the site knows more than the host can tell."""

    cache: list[str] = []
    """Directories in which the job keeps caches (``cache_dir``), beside those that its environment names."""
    launch: str | None = None
    """The launch script with its arguments ("scripts/finetune_72b.sh 8"); it is read, never executed."""

    launch_env: dict[str, str] = {}
    """Variables of the environment the script will be called in ({MASTER_ADDR = "10.0.0.1"})."""

    launch_cwd: str | None = None
    """The folder the script is called in, where it is not the present one."""

    nnodes: Count | None = None
    """The number of nodes, where only run time knows it."""

    hostfile: str | None = None
    """A file with one host a line, which gives the number of nodes."""

    unknown: Literal["error", "skip"] = "error"
    """What "could not tell" becomes."""

    inconclusive: Literal["warn", "fail"] = "warn"
    """What a throughput within its own noise of the floor becomes: its point estimate decides with a warning, or it
    fails."""

    contended: Literal["fail", "inconclusive"] = "fail"
    """What a throughput below the floor is while other processes have the cores: a failure, or nobody can tell."""

    program: str | None = None
    """The training program and its arguments ("train.py --config x.yaml"), run up to its first training call."""

    program_cwd: str | None = None
    """The folder the program is started in, where it is not the present one."""

    capture_timeout: Seconds = 120.0
    """Seconds the program has to its first training call."""

    steps: Count | None = None
    """How many steps of the program are run and timed after its first training call, where its device is here: an NPU,
    or a CPU that it asks for itself."""

    ranks: Count | None = None
    """The number of processes of the job, one an NPU; what the program is told of its communication group."""
