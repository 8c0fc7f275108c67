"""The measuring loop: one reading of the clock a batch, windows that close at a batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pytest_ascendenv.pipeline.counting import Count
from pytest_ascendenv.pipeline.decision import Window
from pytest_ascendenv.pipeline.sources import Source, close

WINDOW = 0.1  # seconds; cut at batches, time slices alone raised the variation of a steady pipeline from .025 to .108
FAST = 100e-6  # seconds an item below which a reading of the clock for each costs more than half a percent
STRIDE = 1e-3  # seconds that one stride of a fast source aims at

Enough = Callable[[Sequence[Window], float], bool]
"""(windows after the warm-up, seconds since the warm-up) -> stop now."""
_END: Any = object()


@dataclass(frozen=True)
class Trace:
    """What was seen of a pipeline. ``windows`` begin after the warm-up, or at the first batch for data shorter than it
    (``short``); ``first_batch`` is in seconds from the opening; ``batches`` and ``all_samples`` include the warm-up."""

    windows: tuple[Window, ...]
    first_batch: float
    first_samples: int
    batches: int
    all_samples: int
    short: bool = False
    passes: int = 1
    note: str = ""


class Meter:
    """Reads one source until ``enough`` says so or the data end. ``tick`` receives the batches and samples so far;
    ``warmed`` is called once, when the warm-up is over."""

    def __init__(
        self,
        source: Source,
        count: Count,
        enough: Enough,
        warmup: float,
        tick: Callable[[int, int], None] = lambda batches, samples: None,
        warmed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.source, self.count, self.enough, self.warmup = source, count, enough, warmup
        self.tick, self.warmed, self.clock = tick, warmed, clock
        self.iterator: Iterator[Any] | None = None
        self.windows: list[Window] = []
        self.skip = 0  # windows that belong to the warm-up
        self.warming = True
        self.samples = self.items = 0  # of the open window, which began at ``mark``
        self.mark = self.last = self.began = self.skipped = 0.0
        self.size = -1  # samples of the last item
        self.alike = True  # whether all items held as many
        self.batches = self.total = 0
        self.before = 0  # batches before this pass
        self.passes = 1
        self.note = ""

    def run(self) -> Trace:
        """The trace; ``iterator`` stays open for the caller to close."""
        opened = self.clock()
        self.iterator = iterator = self.source.open()
        item = next(iterator, _END)
        if item is _END:
            return Trace((), 0.0, 0, 0, 0)
        self.mark = self.last = self.clock()
        first_batch = self.mark - opened
        self.size = first = self.count(item)
        self._seen(1, first)
        self.samples = self.items = 0  # the first batch carries the start-up
        ended = self._read(iterator)
        return self._trace(first_batch, first, ended)

    def _read(self, iterator: Iterator[Any]) -> bool:
        """True where the data ended before it was enough."""
        while not self._each(iterator):
            following = self._again()
            if following is None:
                return True
            if self.last - self.mark >= WINDOW and self._close(self.last):
                return False
            iterator = following
        return False

    def _each(self, iterator: Iterator[Any]) -> bool:
        """One reading of the clock an item; True when it is enough, False at the end of the data."""
        for item in iterator:
            size = self.count(item)
            now = self.clock()
            self.alike = self.alike and size == self.size
            self.size = size
            self._seen(1, size)
            self.last = now
            if now - self.mark >= WINDOW:
                fast = self.alike and now - self.mark < FAST * self.items
                if self._close(now):
                    return True
                if fast:
                    return self._strides(iterator)
        return False

    def _strides(self, iterator: Iterator[Any]) -> bool:
        """One reading of the clock a stride of items of one size, the last of a stride counted by itself."""
        length = 1
        while True:
            begun = self.last
            run = deque(enumerate(islice(iterator, length), 1), maxlen=1)
            if not run:
                return False
            number, item = run[0]
            size = self.count(item)
            self.last = now = self.clock()
            self._seen(number, (number - 1) * self.size + size)
            if now - self.mark >= WINDOW and self._close(now):
                return True
            if now - begun < STRIDE:
                length *= 2
            elif now - begun > 4 * STRIDE:
                length = max(1, length // 4)

    def _seen(self, items: int, samples: int) -> None:
        self.items += items
        self.samples += samples
        self.batches += items
        self.total += samples
        self.tick(self.batches, self.total)

    def _close(self, now: float) -> bool:
        """Close the window at this item; True when it is enough."""
        self.windows.append((self.samples, now - self.mark))
        self.began += now - self.mark
        self.samples = self.items = 0
        self.mark = now
        if self.warming:
            self._warm()
            return False
        return self.enough(self.windows[self.skip :], self.began - self.skipped)

    def _warm(self) -> None:
        if self.began >= self.warmup:
            self.skip, self.skipped, self.warming = len(self.windows), self.began, False
            self.warmed()

    def _again(self) -> Iterator[Any] | None:
        """The data from the start, one item taken; None where there are none."""
        if self.source.again is None:
            return None
        if not self.source.gap:
            close(self.iterator)
        try:
            self.iterator = iterator = self.source.again()
            item = next(iterator, _END)
        except Exception as error:  # data that cannot be read twice: what the first pass gave still stands
            self.note = f"the data could not be read a second time: {type(error).__name__}: {error}"
            return None
        if item is _END:
            self.note = "the data could not be read a second time: there was nothing"
            return None
        self.passes += 1
        self._resume(self.count(item))
        return iterator

    def _resume(self, size: int) -> None:
        now = self.clock()
        alone = self.batches - self.before == 1  # a pass of one item has no other time than from pass to pass
        self.before = self.batches
        if self.source.gap or alone:
            self._seen(1, size)
            if alone and not self.note:
                self.note = "each pass over the data holds one item: the time to open it again counts"
        else:  # the open window ends with the pass, and the next begins at this batch
            self._join_tail()
            self._seen(1, size)
            self.samples = self.items = 0
            self.mark = now
        self.last = now

    def _join_tail(self) -> None:
        """What the open window held at its last item, as part of the window before it."""
        seconds = self.last - self.mark
        if not self.samples or seconds <= 0:
            return
        if len(self.windows) > self.skip:
            samples, before = self.windows[-1]
            self.windows[-1] = (samples + self.samples, before + seconds)
        else:
            self.windows.append((self.samples, seconds))
        self.began += seconds

    def _trace(self, first_batch: float, first: int, ended: bool) -> Trace:
        if ended:
            self._join_tail()
        windows = self.windows[self.skip :]
        short = ended and (self.warming or not windows)
        return Trace(
            tuple(self.windows if short else windows),
            first_batch,
            first,
            self.batches,
            self.total,
            short,
            self.passes,
            self.note,
        )
