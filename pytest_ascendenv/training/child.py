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
from typing import Any

from pytest_ascendenv.training import mailbox, site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.mailbox import Order
from pytest_ascendenv.training.record import Observation, TrainingCall
from pytest_ascendenv.training.shims import Shims
from pytest_ascendenv.training.spies import Spies


@dataclass(frozen=True)
class End:
    """How a program ended that did not train: ``how`` reads after its name, ``place`` is the last line of its own."""

    how: str
    place: str


@dataclass(frozen=True)
class Report:
    """What is known at the first training call; ``measured`` is a Throughput, or the reason why there is none."""

    observation: Observation
    measured: Any = None


def start() -> None:
    """Begin to watch this process."""
    order = Order.read(os.environ)
    hooks = Hooks()
    if os.getppid() == order.captor:
        _tell_the_end(order, hooks)
    seen = Observation(captured=True)
    shims = Shims(seen, hooks, order.ranks)
    spies = Spies(seen, hooks, stop=_Stop(order, seen), asked=shims.asked)

    def watch(mindspore: ModuleType) -> None:
        shims.install(mindspore)
        spies.install(mindspore)

    hooks.when_imported("mindspore", watch)


class _Stop:
    """Called at the first training call, on whatever thread it comes; does not return."""

    def __init__(self, order: Order, seen: Observation) -> None:
        self.order = order
        self.seen = seen

    def __call__(self, call: TrainingCall, dataset: Any) -> None:
        seen = self.seen
        seen.calls = [replace(call, facts={name: mailbox.plain_fact(fact) for name, fact in call.facts.items()})]
        seen.casts = [mailbox.plain_fact(fact) for fact in seen.casts]
        measured = _measure(dataset, self.order) if self.order.measure else None
        mailbox.put(self.order.folder, mailbox.REPORT, Report(seen, measured))
        _leave()


def _measure(dataset: Any, order: Order) -> Any:
    """The rate of the dataset that was handed to the training call, or why there is none."""
    from pytest_ascendenv import pipeline

    if dataset is None:
        return "the dataset of the training call is not known"
    try:
        return pipeline.measure(dataset, floor=order.floor)
    except (pipeline.NotMeasured, TypeError, ValueError) as error:
        return str(error)


def _leave() -> None:
    """Out at once: the program must neither catch this nor save a checkpoint on the way."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(0)


def _tell_the_end(order: Order, hooks: Hooks) -> None:
    """Leave word of where the program was when its time was up, and of where and how it ended."""
    stack = open(os.path.join(order.folder, mailbox.STACK), "w")  # noqa: SIM115  # open while the program lives
    faulthandler.enable(stack)
    faulthandler.dump_traceback_later(order.seconds, file=stack)

    def exits(original: Any, status: Any = None) -> Any:
        mailbox.put(order.folder, mailbox.END, End(f"called sys.exit({status!r})", site.caller()))
        return original(status)

    def leaves(original: Any, status: int) -> Any:
        if status or not os.path.exists(os.path.join(order.folder, mailbox.REPORT)):
            mailbox.put(order.folder, mailbox.END, End(f"called os._exit({status})", site.caller()))
        return original(status)

    hooks.watch(sys, "exit", exits)
    hooks.watch(os, "_exit", leaves)
    own, started_in = os.getpid(), os.getcwd()
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
