"""Runs a piece of work on the user's pipeline in a forked child, under limits, and leaves nothing of it behind.

A pipeline that hangs inside MindSpore cannot be interrupted in its own process: signal handlers do not run, stopping
the iterator from another thread crashes, and a killed dataset worker takes the whole process with it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, NoReturn

from pytest_ascendenv.pipeline import frames, leftovers, processes
from pytest_ascendenv.pipeline.failures import NotMeasured, PipelineError, Raised, Stalled
from pytest_ascendenv.probes import lock

POLL = 0.05  # seconds between two looks at the child
GATHER = 1.0  # seconds between two looks at its descendants
GRACE = 0.5  # seconds for a child that gave its result to end by itself
DUMP = 0.3  # seconds for one process to write its stacks
FIRST = 60.0  # seconds to the first batch
STALL = 10.0  # seconds between two batches, at least
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Limits:
    """Seconds to the first batch, and between two batches.

    The second one is stretched to ten batches at ``floor`` (samples/s) and to three times the first batch's own time,
    so that a pipeline of seconds a batch does not count as hung.
    """

    first: float = FIRST
    stall: float = STALL
    floor: float | None = None

    def between(self, batches: int, samples: int, first_batch: float) -> float:
        at_floor = 10 * samples / batches / self.floor if self.floor and batches else 0.0
        return max(self.stall, at_floor, 3 * first_batch)


class Progress:
    """Batches and samples so far, in memory that parent and child share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)
        self._view = memoryview(self._memory).cast("q")

    def tick(self, batches: int, samples: int) -> None:
        view = self._view
        view[0] = batches
        view[1] = samples

    def read(self) -> tuple[int, int]:
        return self._view[0], self._view[1]

    def close(self) -> None:
        self._view.release()
        self._memory.close()


Tick = Callable[[int, int], None]
Send = Callable[[Any], None]
Work = Callable[[Tick, Send], None]
"""Calls ``tick(batches, samples)`` as it goes and ``send(result)`` once, then ends what it opened."""


def possible() -> bool:
    """Whether this platform can fork."""
    return hasattr(os, "fork")


def run(work: Work, limits: Limits, watch: Callable[[int, int], None] = lambda batches, samples: None) -> Any:
    """What ``work`` sends, from a forked child.

    ``watch`` is called with the batches and samples so far, a few times a second. Raises Stalled at a limit,
    PipelineError for an exception of the pipeline, NotMeasured where the child died, OSError where fork failed.
    """
    child = _Child(work)
    try:
        return child.result(limits, watch)
    finally:
        child.end()


@dataclass
class _Child:
    work: Work
    given: bool = False
    seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.before = leftovers.inventory()
        self.progress = Progress()
        self.dump: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self.receiver, sender = Pipe(duplex=False)
        for stream in (sys.stdout, sys.stderr):  # else the child would write it once more
            with suppress(Exception):
                stream.flush()
        parent = os.getpid()
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns where other threads live; the child only ever reads the pipeline and ends.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError:
            self._close()
            sender.close()
            raise
        if self.pid == 0:
            _live(self.work, self.progress, self.dump, sender, parent)
        sender.close()
        self.status: int | None = None

    def result(self, limits: Limits, watch: Callable[[int, int], None]) -> Any:
        begun = moved = gathered = time.monotonic()
        last, first_batch = 0, 0.0
        while not self.receiver.poll(POLL):
            now = time.monotonic()
            batches, samples = self.progress.read()
            if batches != last:
                first_batch = first_batch or now - begun
                last, moved = batches, now
                watch(batches, samples)
            limit = limits.between(batches, samples, first_batch) if batches else limits.first
            if now - moved > limit:
                raise self._stalled(limit, batches, samples)
            if self._ended() and not self.receiver.poll(0):
                raise self._died()
            if now - gathered > GATHER:
                gathered = now
                self.seen.update(processes.children(self.pid))
        return self._received()

    def _received(self) -> Any:
        try:
            kind, value = self.receiver.recv()
        except EOFError:
            time.sleep(POLL)
            self._ended()
            raise self._died() from None
        self.given = True
        if kind == "raised":
            raise value if isinstance(value, NotMeasured) else PipelineError(value, self.progress.read()[0])
        return value

    def _ended(self) -> bool:
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # reaped by a handler of the user's
                pid, status = self.pid, 0
            if pid:
                self.status = status
        return self.status is not None

    def _died(self) -> NotMeasured:
        code = os.waitstatus_to_exitcode(self.status or 0)
        batches = self.progress.read()[0]
        if code < 0:
            reason = f"was killed by {signal.Signals(-code).name}"
            if -code in (signal.SIGKILL, signal.SIGTERM):
                # MindSpore ends the main process with SIGTERM when one of its workers was killed.
                reason += " (out of memory, or one of its dataset workers was killed?)"
        else:
            reason = f"ended with exit code {code}"
        return NotMeasured(f"the measuring process {reason} after {batches} batches")

    def _stalled(self, limit: float, batches: int, samples: int) -> Stalled:
        stacks = self._stacks()
        places = frames.stuck(stacks)
        where = f"; it stands at {', '.join(places)}" if places else ""
        if batches:
            return Stalled(f"no batch for {limit:g} s after {batches} batches ({samples} samples){where}", stacks)
        return Stalled(f"no first batch in {limit:g} s{where}", stacks)

    def _stacks(self) -> str:
        """The Python stacks of the child and of the workers that it forked, one process at a time.

        An idle MindSpore worker ends when a signal interrupts it, and then its main process ends all others: so that
        one is asked first and stopped.
        """
        workers = [pid for pid in processes.members(self.pid) if pid != self.pid]
        self._dump(self.pid)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)
        for pid in workers:
            self._dump(pid)
        self.dump.seek(0)
        return self.dump.read().decode(errors="replace")

    def _dump(self, pid: int) -> None:
        if not _catches(pid, signal.SIGUSR1):
            return
        self.dump.seek(0, os.SEEK_END)
        self.dump.write(f"Process {pid}\n".encode())
        size = os.fstat(self.dump.fileno()).st_size
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
        self._settle(size)

    def _settle(self, size: int) -> None:
        limit = time.monotonic() + DUMP
        quiet, written = 0, False
        while time.monotonic() < limit and quiet < 3:
            time.sleep(0.02)
            grown = os.fstat(self.dump.fileno()).st_size
            quiet = quiet + 1 if grown == size and written else 0
            written = written or grown > size
            size = grown

    def end(self) -> None:
        """No process, shared memory, queue or file of the child is left after this."""
        try:
            if self.given:
                self._wait(GRACE)
            living = processes.members(self.pid)
            files = leftovers.mapped(living)
            self.seen |= {self.pid, *living}
            self._kill(living)
            leftovers.remove(self.before, self.seen, files)
        finally:
            self._close()

    def _kill(self, living: list[int]) -> None:
        limit = time.monotonic() + 2.0  # one in an uninterruptible call cannot be waited for
        while living and time.monotonic() < limit:
            for pid in living:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self._wait(0.2)
            living = processes.members(self.pid)
            self.seen |= set(living)
        self._wait(0.2)

    def _wait(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while not self._ended() and time.monotonic() < limit:
            time.sleep(0.005)

    def _close(self) -> None:
        self.receiver.close()
        self.dump.close()
        self.progress.close()


def _catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal; it would end another one, such as a spawned worker."""
    try:
        text = (processes.PROC / str(pid) / "status").read_text()
        caught = next(line for line in text.splitlines() if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def _live(work: Work, progress: Progress, dump: IO[bytes], sender: Connection, parent: int) -> NoReturn:
    """The whole life of the child: nothing of the parent's (its exit handlers, its tests) may run in it."""
    try:
        _settle_in(dump, parent)
        try:
            work(progress.tick, lambda value: sender.send(("result", value)))
        except NotMeasured as error:
            sender.send(("raised", error))
        except BaseException as error:  # also SystemExit and KeyboardInterrupt of the pipeline's own
            sender.send(("raised", frames.raised(error)))
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
    finally:
        os._exit(0)


def _settle_in(dump: IO[bytes], parent: int) -> None:
    lock.forget()
    for trace in (sys.settrace, threading.settrace, sys.setprofile, threading.setprofile):
        trace(None)  # of a coverage run: it would be lost, and slows every line of a Python source
    os.setsid()  # its own group: Ctrl-C reaches the parent, which then ends this one
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.register(signal.SIGUSR1, file=dump, all_threads=True, chain=False)


__all__ = ["Limits", "Raised", "possible", "run"]
