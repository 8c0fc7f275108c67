"""A few steps of a captured program, timed: what one takes on the device that it is for.

A hand-written loop is timed from the start of a step to the start of the next one, ``Model.train`` at the end of each:
either way with the wait for its batch, as in the job. The program is stopped as soon as the steps are over.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

from pytest_ascendenv.training import site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.verdict import Fact

__tracebackhide__ = True  # of all frames here: what a wrong call raises points at the user's line

WARM_UP = 4
"""One in so many steps comes before the timed ones: the first compiles the graph, the next ones still allocate."""


class Steps:
    """Counts the steps of one training loop and ends with ``finish(step_time)`` when ``wanted`` of them are over.

    ``notes`` receives what was altered for it. Nothing happens before ``begin``.
    """

    def __init__(
        self,
        wanted: int,
        finish: Callable[[Fact], None],
        notes: list[str],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.wanted = wanted
        self.warm = max(1, wanted // WARM_UP)
        self.finish = finish
        self.notes = notes
        self.clock = clock
        self.active = False
        self.done = 0
        self._place = ""
        self._begun = 0.0
        self._first: tuple[int, float] | None = None
        self._timed: tuple[int, float] | None = None
        self._away: float | None = None
        self._paused: float | None = None
        self._between: float | None = None
        self._loop: object = None

    def begin(self, place: str, hooks: Hooks, mindspore: ModuleType) -> None:
        """From here on steps count; ``place`` is the training call."""
        self._place = place
        self._begun = self.clock()
        self.active = True
        hooks.watch(mindspore, "save_checkpoint", self._save)

    # -- where steps are seen ---------------------------------------------------------------------------------------

    def started(self, loop: object, size: int = 1) -> None:
        """A step of a hand-written loop begins, which takes ``size`` batches; of several loops the first one counts."""
        if not self.active:
            return
        if self._loop is None:
            self._loop = loop
        elif loop == self._loop:
            self.advance(size)

    def of_model(self, original: Any, args: Any, kwargs: Any, sinks: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of ``Model.train`` or ``fit`` with our callback.

        Where it really ``sinks``, a step ends for the callbacks when a whole transfer does: then with transfers of no
        more than the wanted steps, one to warm up and the others to be timed.
        """
        bound = inspect.signature(original).bind(*args, **kwargs)
        given = bound.arguments
        callbacks = given.get("callbacks")
        several = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else []
        checkpoint = sys.modules["mindspore"].train.ModelCheckpoint
        kept = [one for one in several if not isinstance(one, checkpoint)]
        if len(kept) < len(several):
            self._note("ModelCheckpoint was left out of the callbacks while steps were timed")
        given["callbacks"] = [*kept, _callback(self)]
        if sinks:
            self._shorten(given)
        return bound.args, bound.kwargs

    def _shorten(self, given: dict[str, Any]) -> None:
        size = given.get("sink_size", -1)
        if size == -1 or size > self.wanted:
            given["sink_size"] = size = self.wanted
            self._note(f"sink_size={size} while steps were timed")
        transfers = math.ceil(self.warm / size) + math.ceil((self.wanted - self.warm) / size)
        given["epoch"] = max(given["epoch"], given.get("initial_epoch", 0) + transfers)

    def of_sink(self, function: Any, size: int) -> Any:
        """What ``data_sink`` returned: each call of it is a transfer of ``size`` steps."""
        if not self.active:
            return function

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.started(function, size)
            return function(*args, **kwargs)

        return timed

    def _save(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self._note(f"save_checkpoint at {site.caller()} was passed over while steps were timed")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # -- the clock --------------------------------------------------------------------------------------------------

    def advance(self, steps: int) -> None:
        """So many more are over."""
        if not self.active or steps <= 0:
            return
        self.done += steps
        if self._first is None:
            self._first = steps, self.clock() - self._begun
        if self._timed is None:
            if self.done >= self.warm:
                _synchronize()
                self._timed = self.done, self.clock()
        elif self.done >= self.wanted:
            _synchronize()
            self.finish(self._fact(self.clock()))

    def ended(self) -> None:
        """A step of ``Model.train`` is over; what follows is the wait for the next batch."""
        self._paused = self.clock()

    def resumed(self) -> None:
        """The next step of it has its batch."""
        if self._paused is not None and self._timed is not None:
            self._between = (self._between or 0.0) + self.clock() - max(self._paused, self._timed[1])
        self._paused = None

    def leaves(self) -> None:
        """What follows is no training, such as an evaluation between two epochs."""
        self._away = self.clock()

    def returns(self) -> None:
        if self._away is not None and self._timed is not None:
            steps, since = self._timed
            gone = self.clock() - max(self._away, since)
            self._timed = steps, since + gone
            if self._paused is not None:
                self._paused += gone
        self._away = None

    def _fact(self, now: float) -> Fact:
        """``step_time`` in seconds."""
        assert self._timed is not None
        assert self._first is not None
        before, since = self._timed
        timed = self.done - before
        number, took = self._first
        how = ", from one call of it to the next" if self._loop is not None else ""
        if self._between is not None:
            wait = self._between / timed
            shown = f"{wait:.2f} s" if wait >= 1 else f"{1000 * wait:.3g} ms"
            how = f", {shown} of it between two steps, where the batch is read"
        first = f"the first {number if number > 1 else 'one'} took {took:.2f} s"
        return Fact(
            "step_time",
            (now - since) / timed,
            self._place,
            reason=f"mean of {timed} steps after {before}{how}; {first}",
        )


def unknown(reason: str, place: str) -> Fact:
    """The same fact where no step was timed."""
    return Fact.unknown("step_time", reason, place)


def _callback(steps: Steps) -> Any:
    """Made where MindSpore is loaded: its class decides what a callback is."""

    class StepTimer(sys.modules["mindspore"].train.Callback):  # type: ignore[misc]
        last: int | None = None

        def on_train_epoch_begin(self, run_context: Any) -> None:
            if self.last is None:
                self.last = run_context.original_args().cur_step_num

        def on_train_step_begin(self, run_context: Any) -> None:
            steps.resumed()

        def on_train_step_end(self, run_context: Any) -> None:
            now = run_context.original_args().cur_step_num
            steps.advance(now - (self.last or 0))
            self.last = now
            steps.ended()

        def on_eval_begin(self, run_context: Any) -> None:
            steps.leaves()

        def on_eval_end(self, run_context: Any) -> None:
            steps.returns()

    return StepTimer()


def _synchronize() -> None:
    """Until the device has done what was launched; kernels run behind Python's back."""
    mindspore = sys.modules["mindspore"]
    for name in ("runtime", "hal"):  # the newer and the older home of it
        function = getattr(getattr(mindspore, name, None), "synchronize", None)
        if function is not None:
            with suppress(Exception):  # a CPU has nothing to wait for
                function()
            return
