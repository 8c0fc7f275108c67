"""What the user declares about the job beside the preconditions; each field is a settings key of that name."""

from __future__ import annotations

from typing import Literal

import msgspec


class Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Typed once, for the settings file and for the checks.

    ``data`` are the paths of the training data; ``framework`` is what the job runs on ("mindspore" or "torch_npu")
    where the installed packages do not tell; ``torch_npu_release`` is the release of the Ascend Extension for PyTorch
    that the job will run ("7.3.0") where it is not installed here; ``unknown`` is what "could not tell" becomes: an
    error or a skip.
    """

    data: list[str] = []
    framework: Literal["mindspore", "torch_npu"] | None = None
    torch_npu_release: str | None = None
    unknown: Literal["error", "skip"] = "error"
