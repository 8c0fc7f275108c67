"""The measurement in this process, where a child cannot do it: no fork, or a source whose threads already run here.

A hung pipeline cannot be ended here. Its thread is left as it is: stopping it from outside or ending the interpreter
in the normal way crashes, so ``abandoned`` tells whoever ends the process to use ``os._exit``.
"""

from __future__ import annotations

import io
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from pytest_ascendenv.pipeline import frames
from pytest_ascendenv.pipeline.child import POLL, Limits, Work
from pytest_ascendenv.pipeline.failures import NotMeasured, PipelineError, Stalled

abandoned: list[threading.Thread] = []
"""Threads that hang in a pipeline."""


def run(work: Work, limits: Limits, watch: Callable[[int, int], None] = lambda batches, samples: None) -> Any:
    """What ``work`` sends, from a thread of this process; raises as ``child.run`` does."""
    progress = [0, 0]
    results: list[Any] = []
    errors: list[BaseException] = []

    def tick(batches: int, samples: int) -> None:
        progress[0], progress[1] = batches, samples

    def body() -> None:
        try:
            work(tick, results.append)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, daemon=True, name="throughput")
    thread.start()
    _wait(thread, progress, results, limits, watch)
    if results:
        return results[0]
    if isinstance(errors[0], NotMeasured):
        raise errors[0]
    raise PipelineError(frames.raised(errors[0]), progress[0]) from errors[0]


def _wait(
    thread: threading.Thread, progress: list[int], results: list[Any], limits: Limits, watch: Callable[[int, int], None]
) -> None:
    begun = moved = time.monotonic()
    last, first_batch = 0, 0.0
    while thread.is_alive():
        thread.join(POLL)
        now = time.monotonic()
        batches, samples = progress
        if batches != last:
            first_batch = first_batch or now - begun
            last, moved = batches, now
            watch(batches, samples)
        limit = limits.between(batches, samples, first_batch) if batches else limits.first
        if now - moved > limit:
            abandoned.append(thread)
            if results:  # it hangs only while it closes
                return
            raise _stalled(thread, limit, batches)


def _stalled(thread: threading.Thread, limit: float, batches: int) -> Stalled:
    frame = sys._current_frames().get(thread.ident or 0)
    text = io.StringIO()
    if frame is not None:
        text.write("Thread throughput\n" + "".join(reversed(traceback.format_stack(frame))))
    places = frames.stuck(text.getvalue())
    where = f"; it stands at {', '.join(places)}" if places else ""
    after = f"no batch for {limit:g} s after {batches} batches" if batches else f"no first batch in {limit:g} s"
    return Stalled(after + where, text.getvalue())
