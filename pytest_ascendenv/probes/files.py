"""The user's own files: how many, how large, and how fast small ones open and read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ascendenv.probes.children import ask
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.lock import measuring
from pytest_ascendenv.probes.paths import absolute
from pytest_ascendenv.verdict import Unknown

ENTRIES = 20_000  # files looked at, at most
SCAN_SECONDS = 2.0
SIZES = 1000  # files whose size is asked
COUNT = 200  # files read, at most twice as many where some were in memory
READ_SECONDS = 10.0
SLACK = 10.0


@dataclass(frozen=True)
class Files:
    """A bounded look at the files below a path.

    ``count`` files were seen, and ``whole`` tells whether that is all. ``sizes`` are those of a random sample, in bytes
    and in order; ``largest`` the largest of it with their sizes. ``cold`` and ``warm`` are the seconds of
    open+read+close of the files that were read, those that lay in the page cache (or may have) being warm; ``unread``
    could not be opened or read.
    """

    path: str
    count: int
    whole: bool
    sizes: tuple[int, ...]
    largest: tuple[tuple[str, int], ...]
    cold: tuple[float, ...]
    warm: tuple[float, ...]
    read: int
    unread: int

    @property
    def median_size(self) -> int:
        return self.sizes[len(self.sizes) // 2] if self.sizes else 0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of them do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def scan(host: Host, path: str, largest: int = 0) -> Files:
    """Count and sizes only; raises Unknown where the files cannot be listed or the storage does not answer."""
    return _ask(host, path, largest, 0)


def sample(host: Host, path: str) -> Files:
    """The same, and up to 200 files that are not in memory are opened, read and closed one after another."""
    with measuring(f"reading files of {path}"):
        return _ask(host, path, 0, COUNT)


def _ask(host: Host, path: str, largest: int, count: int) -> Files:
    what = f"reading files of {path}" if count else f"listing of {path}"
    if not host.real:
        raise Unknown(f"{what}: a captured host has no files")
    order = {
        "path": absolute(host, path),
        "entries": ENTRIES,
        "seconds": SCAN_SECONDS,
        "sizes": ENTRIES if largest else SIZES,
        "largest": largest,
    }
    order |= {"count": count, "read_seconds": READ_SECONDS}
    answer = ask("sample", order, SCAN_SECONDS + bool(count) * READ_SECONDS + SLACK, what)
    if "error" in answer:
        raise Unknown(f"{what}: {answer['error']}: {answer['at']}")
    return Files(
        path=path,
        count=answer["files"],
        whole=answer["whole"],
        sizes=tuple(answer["sizes"]),
        largest=tuple((name, size) for name, size in answer["largest"]),
        cold=tuple(answer["cold"]),
        warm=tuple(answer["warm"]),
        read=answer["read"],
        unread=answer["unread"],
    )
