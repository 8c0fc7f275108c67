"""What was seen of a program or of a test: plain values only, so that nothing of the user's is kept alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_ascendenv.training.amp import Precision
from pytest_ascendenv.training.dataset import Operation
from pytest_ascendenv.verdict import Fact

GRAPH = "GRAPH_MODE"
PYNATIVE = "PYNATIVE_MODE"


@dataclass(frozen=True)
class Jitted:
    """What ``@jit`` compiles of a step; ``whole`` if gradient and update are both inside."""

    names: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class TrainingCall:
    """One call that trains: ``Model.train``, ``Model.fit``, ``data_sink`` or the step of a hand-written loop.

    ``facts`` have the names that ``facts --program`` prints. ``precision`` is None where no network could be found.
    ``operations`` are the tree of the dataset that feeds it, from source to last, None where it could not be told.
    ``error`` is what the call raised, if it did.
    """

    function: str
    site: str
    facts: Mapping[str, Fact]
    precision: Precision | None = None
    jitted: Jitted = Jitted()
    operations: tuple[Operation, ...] | None = None
    error: str = ""

    def having(self, fact: Fact) -> TrainingCall:
        """The same call with one more fact."""
        return replace(self, facts={**self.facts, fact.name: fact})

    @property
    def title(self) -> str:
        """``Model.train at train.py:40``."""
        return f"{self.function} at {self.site}" if self.site else self.function


@dataclass(frozen=True)
class DatasetSeen:
    """A dataset that was iterated or handed over, beside those of training calls."""

    site: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class ModelRefused:
    """A ``Model`` whose constructor raised: no training call can follow, but what was declared is known."""

    site: str
    level: str
    error: str


@dataclass
class Observation:
    """Filled while the test or the program runs; read afterwards.

    ``casts`` are the calls of ``auto_mixed_precision`` and its kin, each with its call site. ``unread`` tells of
    calls that were seen but not understood: nothing may be concluded then. ``on_cpu`` is True where
    MindSpore ran without an NPU; ``captured`` where a program was stopped before its first step, and ``memory`` what it
    then had resident, in bytes.
    """

    calls: list[TrainingCall] = field(default_factory=list)
    datasets: list[DatasetSeen] = field(default_factory=list)
    refused: list[ModelRefused] = field(default_factory=list)
    casts: list[Fact] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    on_cpu: bool = True
    captured: bool = False
    memory: int | None = None

    def note(self, text: str) -> None:
        """Add a note that is not there yet; an empty one is none."""
        if text and text not in self.notes:
            self.notes.append(text)

    def saw_dataset(self, dataset: object, place: str = "") -> None:
        """Note a pipeline that was handed over without being iterated here, as to the throughput fixture."""
        from pytest_ascendenv.training import dataset as tree

        if tree.is_dataset(dataset):
            self.datasets.append(DatasetSeen(place, tree.walk(dataset)))
