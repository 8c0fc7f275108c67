"""Run an unmodified program up to its first training call, in a child, and bring back what was seen there."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.training import mailbox, site, stack
from pytest_ascendenv.training.mailbox import Order
from pytest_ascendenv.training.rate import Rate
from pytest_ascendenv.training.record import Observation
from pytest_ascendenv.training.steps import unknown as step_time_unknown
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.training.child import End, Report

SECONDS = 120.0
"""The time a program has to its first training call, unless the settings say otherwise."""
MEASURING = 750.0
"""Seconds more where the throughput is measured: the limits of one measurement taken together, most of them its
patience with other measurements on this host."""
ADVISING = 180.0
"""Seconds more where the workers are tried too: about two for each number of them, 1, 2, 4 … usable cores."""

_POLL = 0.01  # seconds
_GRACE = 1.0  # seconds for a program that ended to leave word of it, and for its stack to be written
_KILL = 5.0  # seconds for killed processes to go; one in an uninterruptible call is left behind
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_OPTION = re.compile(r"-([uBOdbqv]+$|[WX])")  # those that leave our own start of the program alone
_LINES = 8  # of its output, in the reason of a failure


@dataclass(frozen=True)
class Program:
    """A program that was stopped at its first training call. ``output`` is what it had printed, the end of it."""

    command: str
    observation: Observation
    folder: Path = Path()
    output: str = ""
    measured: Rate | None = None

    @cached_property
    def data_paths(self) -> tuple[str, ...]:
        """The files and directories its datasets read, from the folder it was started in."""
        trees = [call.operations or () for call in self.observation.calls]
        trees += [seen.operations for seen in self.observation.datasets]
        return tuple(dict.fromkeys(str(self.folder / path) for tree in trees for one in tree for path in one.paths))


def capture(
    command: str,
    *,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    ranks: int | None = None,
    measure: Mapping[str, Any] | None = None,
    advise: bool = False,
    steps: int | None = None,
) -> Program:
    """Run ``command`` ("train.py --config x.yaml", also "-m package") in ``folder`` until it trains.

    With ``measure`` (options of ``pipeline.measure``) its training dataset is measured there, and with ``advise`` the
    workers of its slow operation are tried. With ``steps`` it trains on for so many of them where its device is here:
    the fact ``step_time``. They have ``seconds`` once more. Raises Unknown where it does not come to a training call
    within ``seconds``: with how it ended and the last line of its own code that ran. Nothing of it is left running.
    """
    words = _words(command, folder or Path.cwd())
    with _mailbox() as mail:
        options = None if measure is None else dict(measure)
        order = Order(mail, os.getpid(), seconds, ranks, options, advise, steps)
        try:
            report = _run(words, order, folder, os.environ if environ is None else environ)
            report = report or _unfinished(order, folder or Path.cwd())
        except Unknown as reason:  # what it left cannot be read
            raise Unknown(f"{command}: {reason}") from None
        output = Path(mail, mailbox.OUTPUT).read_text(errors="replace")
        if report is None:
            raise Unknown(_why(command, order, output, folder or Path.cwd()))
        if report.observation.unread:
            raise Unknown(f"{command}: {report.observation.unread[0]}")
    report.observation.notes.extend(filter(None, [_other_python(command)]))
    return Program(command, report.observation, folder or Path.cwd(), output[-4000:], report.measured)


def _words(command: str, folder: Path) -> list[str]:
    """The arguments for Python; raises Unknown for what is no Python program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unknown(f"program = {command!r}: {error}") from None
    if words and _PYTHON.fullmatch(os.path.basename(words[0])):
        del words[0]
    options = []
    while words and words[0] != "-m" and words[0].startswith("-"):
        if not _OPTION.match(words[0]):
            raise Unknown(f"program: {words[0]} before the file is not understood; allowed are -u -B -O -W -X and -m")
        taken = 2 if words[0] in site.WITH_VALUE else 1
        options += words[:taken]
        del words[:taken]
    if not words:
        raise Unknown("program is empty: name a Python file and its arguments")
    if words[0] != "-m" and not (folder / words[0]).is_file():
        tool = f"; {words[0]} is a command: name the Python file, a launch script goes into launch = …"
        raise Unknown(f"program: there is no file {words[0]} in {folder}" + (tool if shutil.which(words[0]) else ""))
    return [*options, *words]


def _other_python(command: str) -> str:
    """A note where the program asks for an environment that is not the one it was run in."""
    named = shlex.split(command)[0]
    where = os.path.dirname(named)
    if not where or not _PYTHON.fullmatch(os.path.basename(named)) or where == os.path.dirname(sys.executable):
        return ""
    return f"run with {sys.executable}, where pytest is installed, not with {named}"


@contextlib.contextmanager
def _mailbox() -> Any:
    folder = tempfile.mkdtemp(prefix="ascend-env-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(words: list[str], order: Order, folder: Path | None, environ: Mapping[str, str]) -> Report | None:
    from pytest_ascendenv.pipeline import leftovers

    before = leftovers.inventory()
    child: subprocess.Popen[bytes] | None = None
    try:
        child = _start(words, order, folder, environ)
        return _wait(child, order)
    finally:
        leftovers.remove(before, *_end(child, order))


def _start(words: list[str], order: Order, folder: Path | None, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with open(os.path.join(order.folder, mailbox.OUTPUT), "wb") as output:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={**environ, **_environ(order, environ)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _environ(order: Order, environ: Mapping[str, str]) -> dict[str, str]:
    inject = str(Path(__file__).with_name("inject"))
    path = environ.get("PYTHONPATH")
    return {
        mailbox.VARIABLE: order.written(),
        "PYTHONPATH": f"{inject}{os.pathsep}{path}" if path else inject,
        "PYTHONUNBUFFERED": "1",  # a program that hangs is killed, what it printed is wanted
    }


def _wait(child: subprocess.Popen[bytes], order: Order) -> Report | None:
    """The report, as soon as there is one; None when the program ended or its time is up.

    Its way to the training call, the measurement there and the steps each have a time of their own.
    """
    limits = {"": order.seconds, mailbox.REACHED: _measuring(order), mailbox.TRAINS: order.seconds}
    phase, begun = "", time.monotonic()
    while time.monotonic() < begun + limits[phase] + _GRACE:
        ended = child.poll() is not None and not _processes(order)
        report: Report | None = mailbox.take(order.folder, mailbox.REPORT)
        if report is not None or ended:
            return report
        now = _phase(order)
        if now != phase:
            phase, begun = now, time.monotonic()
        time.sleep(_POLL)
    return None


def _measuring(order: Order) -> float:
    return MEASURING + (ADVISING if order.advise else 0.0)


def _phase(order: Order) -> str:
    """The last thing that the program has left word of on its way."""
    return next((name for name in (mailbox.TRAINS, mailbox.REACHED) if Path(order.folder, name).exists()), "")


def _unfinished(order: Order, folder: Path) -> Report | None:
    """What a program left that reached its training call, but not the end of what was to be seen there."""
    phase = _phase(order)
    if not phase:
        return None
    report: Report = mailbox.take(order.folder, phase)
    if phase == mailbox.REACHED and order.measure is None:
        return report
    if phase == mailbox.REACHED:
        why = f"its measurement was not over after {_measuring(order):g} s, or the program ended in it"
        return replace(report, measured=Rate(why=why))
    call = report.observation.calls[0]
    fact = step_time_unknown(f"{_ending(order, folder)} before {order.steps} steps were over", call.site)
    return replace(report, observation=replace(report.observation, calls=[call.having(fact)]))


def _end(child: subprocess.Popen[bytes] | None, order: Order) -> tuple[set[int], set[str]]:
    """Kill whatever the program started; its processes and the shared memory they had mapped.

    An interrupt while it was being started leaves a process that is not known yet: then wait for it to show.
    """
    from pytest_ascendenv.pipeline import leftovers

    killed: set[int] = {child.pid} if child else set()
    files: set[str] = set()
    deadline = time.monotonic() + (_KILL if child else _GRACE)
    while ((found := _processes(order)) or child is None) and time.monotonic() < deadline:
        files |= leftovers.mapped(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= set(found)
        time.sleep(_POLL)
    if child:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_KILL)
    return killed, files


def _processes(order: Order) -> list[int]:
    """The living processes that were started with our order in their environment, wherever they moved since."""
    mark = f"{mailbox.VARIABLE}={order.written()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):  # empty for a zombie
                    found.append(int(entry.name))
    return found


def _why(command: str, order: Order, output: str, folder: Path) -> str:
    """Why there is no report, for people."""
    end: End | None = mailbox.take(order.folder, mailbox.END)
    frozen = stack.last_own_line(Path(order.folder, mailbox.STACK), folder)
    if end is not None:
        reason = f"{end.how} without a training call; the last line of its own that ran is {end.place or 'unknown'}"
    elif frozen.fatal:
        reason = f"died ({frozen.fatal}) before a training call at {frozen.place}"
    elif frozen.place:
        reason = f"reached no training call in {order.seconds:g} s; it was at {frozen.place}"
    else:
        reason = "ended without a training call and left no word, as a killed process does"
    lines = [line for line in output.splitlines() if line.strip()][-_LINES:]
    return f"{command}: {reason}" + "".join(f"\n    | {line}" for line in lines)


def _ending(order: Order, folder: Path) -> str:
    """How a program that was let train came to a stop."""
    end: End | None = mailbox.take(order.folder, mailbox.END)
    frozen = stack.last_own_line(Path(order.folder, mailbox.STACK), folder)
    if end is not None:
        return f"the program {end.how} at {end.place or 'an unknown line'}"
    if frozen.fatal:
        return f"the program died ({frozen.fatal}) at {frozen.place}"
    if frozen.place:
        return f"{order.seconds:g} s were over, at {frozen.place},"
    return "the program ended and left no word, as a killed process does,"
