"""Inside a captured program: watch it, stop it at its first training call, and say how far it came if it never trains.

Started by ``inject/sitecustomize.py`` in the program's own process and in every Python it starts, before its first
line.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import sys
from dataclasses import dataclass, replace
from types import ModuleType, TracebackType
from typing import IO, Any

from pytest_ascendenv.training import mailbox, rate, site, steps
from pytest_ascendenv.training.hooks import Handler, Hooks
from pytest_ascendenv.training.mailbox import Order
from pytest_ascendenv.training.record import Observation, TrainingCall
from pytest_ascendenv.training.shims import Shims
from pytest_ascendenv.training.spies import Spies
from pytest_ascendenv.training.steps import Steps
from pytest_ascendenv.verdict import Fact


@dataclass(frozen=True)
class End:
    """How a program ended that did not train: ``how`` reads after its name, ``place`` is the last line of its own."""

    how: str
    place: str


@dataclass(frozen=True)
class Report:
    """What is known at the first training call."""

    observation: Observation
    measured: rate.Rate | None = None


def start() -> None:
    """Begin to watch this process."""
    order = Order.read(os.environ)
    hooks = Hooks()
    if os.getppid() == order.captor:
        _tell_the_end(order, hooks)
    seen = Observation(captured=True)
    shims = Shims(seen, hooks, order.ranks)
    stop = _Stop(order, seen, shims, hooks)
    spies = Spies(seen, hooks, stop, shims.asked, stop.steps)

    def watch(mindspore: ModuleType) -> None:
        shims.install(mindspore)
        spies.install(mindspore)

    hooks.when_imported("mindspore", watch)


class _Stop:
    """Called at the first training call, on whatever thread it comes; returns only where steps are to be run."""

    def __init__(self, order: Order, seen: Observation, shims: Shims, hooks: Hooks) -> None:
        self.order = order
        self.seen = seen
        self.shims = shims
        self.hooks = hooks
        self.steps = Steps(order.steps, self._finish, seen.notes) if order.steps else None
        self.report = Report(seen)

    def __call__(self, dataset: Any) -> None:
        if self.steps and self.steps.active:
            return
        try:
            measured = self._look(dataset)
            self.report = Report(_frozen(self.seen), measured)
            if self._goes_on():
                return
        except Exception as error:  # a fault of ours must not become one of the program's
            self.seen.unread.append(f"the training call could not be read: {error!r}")
            self.report = Report(self.seen)
        self._end()

    def _end(self) -> None:
        mailbox.put(self.order.folder, mailbox.REPORT, self.report)
        _leave()

    def _goes_on(self) -> bool:
        """Whether steps are run now; where they cannot be, the report says why."""
        if self.steps is None or not self.report.observation.calls:
            return False
        place = self.report.observation.calls[0].site
        why = self._why_not()
        if why:
            self._adds(steps.unknown(f"no step was run: {why}", place))
            return False
        mailbox.put(self.order.folder, mailbox.TRAINS, self.report)
        if _stack is not None:
            faulthandler.dump_traceback_later(self.order.seconds, file=_stack)
        self.steps.begin(place, self.hooks, sys.modules["mindspore"])
        return True

    def _why_not(self) -> str:
        if self.seen.on_cpu and self.shims.device != "CPU":
            return f"the program is for {self.shims.device}, this machine has only a CPU"
        if "ranks" in self.shims.asked:
            return "it is one rank of several, and the others are not here"
        return ""

    def _finish(self, step_time: Fact) -> None:
        """The steps are over."""
        self._adds(step_time)
        self._end()

    def _adds(self, fact: Fact) -> None:
        seen = self.report.observation
        notes = list(dict.fromkeys([*seen.notes, *self.seen.notes]))
        self.report = replace(self.report, observation=replace(seen, calls=[seen.calls[0].having(fact)], notes=notes))

    def _look(self, dataset: Any) -> rate.Rate | None:
        seen = self.seen
        seen.calls = [_plain(call) for call in seen.calls[-1:]]
        seen.casts = [mailbox.plain_fact(fact) for fact in seen.casts]
        seen.memory = _resident()
        mailbox.put(self.order.folder, mailbox.REACHED, Report(seen))
        measured = self._measure(dataset) if self.order.measure is not None else None
        if dataset is not None and seen.calls and not (measured and measured.why):
            self._sample(dataset)
        return measured

    def _measure(self, dataset: Any) -> rate.Rate:
        """The rate of the dataset that was handed to the training call, or why there is none."""
        order, seen = self.order, self.seen
        elsewhere = seen.on_cpu and self.shims.device != "CPU"
        found = rate.measure(dataset, order.measure or {}, advise=order.advise, elsewhere=elsewhere)
        clamping = self.shims.clamping(dataset) if found.throughput else ""
        if found.throughput is None or not clamping:
            return found
        return replace(found, throughput=replace(found.throughput, notes=(*found.throughput.notes, clamping)))

    def _sample(self, dataset: Any) -> None:
        """What only a few rows can tell, of a pipeline that runs as far as is known."""
        from pytest_ascendenv.training import sampling

        (call,) = self.seen.calls
        if call.operations:
            call = replace(call, operations=sampling.with_costs(dataset, call.operations))
        size = sampling.largest_column(dataset) if call.facts["sink_mode"].value is True else None
        if size is not None:
            call = call.having(Fact("batch_bytes", size, call.site, reason="the largest column of a batch"))
        self.seen.calls = [call]


def _frozen(seen: Observation) -> Observation:
    """As it is now; what the program does from here on is no part of it."""
    return replace(
        seen,
        calls=list(seen.calls),
        datasets=list(seen.datasets),
        refused=list(seen.refused),
        casts=list(seen.casts),
        notes=list(seen.notes),
        unread=list(seen.unread),
    )


def _plain(call: TrainingCall) -> TrainingCall:
    return replace(call, facts={name: mailbox.plain_fact(fact) for name, fact in call.facts.items()})


def _resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _leave() -> None:
    """Out at once: the program must neither catch this nor save a checkpoint on the way."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(0)


_stack: IO[str] | None = None
"""Where the program's own process leaves its stack when its time is up."""


def _tell_the_end(order: Order, hooks: Hooks) -> None:
    """Leave word of where the program was when its time was up, and of where and how it ended."""
    global _stack
    _stack = open(os.path.join(order.folder, mailbox.STACK), "w")  # noqa: SIM115  # open while the program lives
    faulthandler.enable(_stack)
    faulthandler.dump_traceback_later(order.seconds, file=_stack)

    own, started_in = os.getpid(), os.getcwd()

    def says(function: str) -> Handler:
        def leaves(original: Any, *status: Any, **named: Any) -> Any:
            if os.getpid() == own:  # not in what it forked
                how = f"called {function}({', '.join(map(repr, [*status, *named.values()]))})"
                mailbox.put(order.folder, mailbox.END, End(how, site.caller()))
            return original(*status, **named)

        return leaves

    hooks.watch(sys, "exit", says("sys.exit"))
    hooks.watch(os, "_exit", says("os._exit"))
    atexit.register(lambda: _ended(order, started_in) if os.getpid() == own else None)


def _ended(order: Order, started_in: str) -> None:
    error: BaseException | None = getattr(sys, "last_value", None)
    if error is not None:
        how = f"raised {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        mailbox.put(order.folder, mailbox.END, End(how, last_own_line(error.__traceback__)))
        return
    mailbox.put(order.folder, mailbox.END, End("came to its end", site.last_statement(site.main_file(started_in))))


def last_own_line(traceback: TracebackType | None) -> str:
    """The innermost line of a traceback that lies in the program's own files."""
    found = ""
    while traceback is not None:
        if site.is_own(traceback.tb_frame.f_code.co_filename):
            found = site.place(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found
