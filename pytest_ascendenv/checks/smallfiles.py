"""small_files: opening and reading the user's own files must be quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks import paths, quantities
from pytest_ascendenv.checks.quantities import show_bytes, show_seconds
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.files import Files

REFERENCE = "ModelArts inspection (ma_help_030): a read that takes more than 10 ms is slow"
P99 = "10 ms"
ENOUGH = 100  # files: the p99 of fewer is their slowest one or two
MANY = 10_000  # files; with small ones, listing and opening them costs more than reading
SMALL = 1_000_000  # bytes: at 1 GB/s they are read in 1 ms, which is what opening one on a network storage costs


@dataclass(frozen=True)
class Wanted:
    """The folders, the time in seconds that 99 of 100 files must keep, and whether files in memory count."""

    paths: tuple[str, ...]
    p99: float
    warm: bool


class SmallFiles:
    """99 of 100 files of a random sample of the data open, read and close within ``p99``.

    Files that already lie in the page cache say nothing of the storage: they are set apart, and a sample with fewer
    than 100 others is "could not tell", unless even so it is too slow. ``warm=True`` counts them, for data that stays
    in memory. The sample is 200 files of at most 20 000 that are looked at; 16 MiB are read of each at most.
    """

    name = "small_files"
    when: Literal["before", "after"] = "before"

    def parse(self, *names: Any, path: Any = (), p99: Any = P99, warm: Any = False) -> Wanted:
        if not isinstance(warm, bool):
            raise ValueError(f"{self.name}: warm must be true or false, not {warm!r}")
        return Wanted(paths.parse(self.name, names, path), quantities.seconds(p99, f"{self.name}: p99"), warm)

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        samples = [env.files(path) for path in paths.declared(wanted.paths, env)]
        slow = [sample for sample in samples if _p99(sample, wanted) > wanted.p99]
        if not slow:
            for sample in samples:
                _enough(sample, wanted)
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if slow else Verdict.PASS,
            expected=f"99 of 100 files opened and read within {show_seconds(wanted.p99)}",
            found="; ".join(_found(sample, wanted) for sample in slow or samples),
            evidence=tuple(fact for sample in samples for fact in _facts(sample, wanted)),
            cause="each file costs at least one round trip to the storage" if slow else "",
            fix=_fix(slow),
            reference=REFERENCE,
            notes=tuple(filter(None, map(hint, samples))),
        )


def hint(sample: Files) -> str:
    """The advice to pack many small files into MindRecord, or ""."""
    if sample.count < MANY or sample.median_size > SMALL:
        return ""
    count = f"{sample.count} files" if sample.whole else f"more than {sample.count} files"
    return (
        f"{sample.path} has {count}, half of them below {show_bytes(sample.median_size)}: pack them into MindRecord "
        "(mindspore.mindrecord.FileWriter), which is read in large pieces"
    )


def _times(sample: Files, wanted: Wanted) -> tuple[float, ...]:
    """The times that are judged: of files that had to be fetched, or of all where those count or are too few."""
    if wanted.warm or not _fetched(sample):
        return (*sample.cold, *sample.warm)
    return sample.cold


def _fetched(sample: Files) -> bool:
    """Enough files had to be fetched to speak of the storage."""
    return len(sample.cold) >= max(1, min(ENOUGH, sample.count))


def _p99(sample: Files, wanted: Wanted) -> float:
    from pytest_ascendenv.probes.files import percentile

    times = _times(sample, wanted)
    if not times:
        why = f"none of {sample.unread} could be read" if sample.unread else "there are none"
        raise Unknown(f"files of {sample.path}: {why}")
    return percentile(times, 0.99)


def _enough(sample: Files, wanted: Wanted) -> None:
    if wanted.warm or _fetched(sample):
        return
    raise Unknown(
        f"{sample.path}: {len(sample.warm)} of {len(sample.cold) + len(sample.warm)} files were in memory already, "
        f"so the storage was not measured (p99 {show_seconds(_p99(sample, wanted))}); warm = true counts them"
    )


def _found(sample: Files, wanted: Wanted) -> str:
    from pytest_ascendenv.probes.files import percentile

    times = _times(sample, wanted)
    half, most = show_seconds(percentile(times, 0.5)), show_seconds(percentile(times, 0.99))
    return f"{sample.path}: p50 {half}, p99 {most}, {len(times) / sum(times):.0f} files/s over {len(times)} files"


def _facts(sample: Files, wanted: Wanted) -> tuple[Fact, ...]:
    seen = f"{sample.count} files" + ("" if sample.whole else " and more")
    state = f"{len(sample.cold)} not in memory, {len(sample.warm)} in memory, {sample.unread} unreadable"
    return (
        Fact(f"files of {sample.path}", f"{seen}, median {show_bytes(sample.median_size)}", "scandir, stat"),
        Fact("read", _found(sample, wanted), f"open+read+close one by one; {state}"),
    )


def _fix(slow: list[Files]) -> str:
    if not slow:
        return ""
    names = ", ".join(sample.path for sample in slow)
    return f"pack {names} into MindRecord (mindspore.mindrecord.FileWriter), or copy it to a local disk"
