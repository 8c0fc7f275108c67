"""Why a pipeline could not be measured. Each is "could not tell": never a rate, never a pass."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ascendenv.verdict import Unknown


class NotMeasured(Unknown):
    """No throughput was obtained; ``str(error)`` says why, for people."""


class NothingMeasured(NotMeasured):
    """The pipeline ended without a single sample."""


class Uncountable(NotMeasured):
    """How many samples an item holds cannot be told; ``count=`` or ``batch_size=`` is the way out."""


@dataclass(frozen=True)
class Raised:
    """An exception of the user's pipeline, as text: it happened in another process.

    ``where`` is "file.py:7 in load", the innermost line of the user's own code ("" where there is none).
    """

    kind: str
    message: str
    where: str
    traceback: str


class PipelineError(NotMeasured):
    """The pipeline raised; ``raised`` holds the exception and its traceback as text."""

    def __init__(self, raised: Raised, batches: int) -> None:
        self.raised = raised
        self.batches = batches
        at = f" ({raised.where})" if raised.where else ""
        super().__init__(f"the pipeline raised {raised.kind}: {raised.message}{at}, after {batches} batches")


class Stalled(NotMeasured):
    """The pipeline gave no batch within its limit; ``stacks`` are the frames where its processes stood."""

    def __init__(self, text: str, stacks: str = "") -> None:
        self.stacks = stacks
        super().__init__(text)
