"""Whatever may hang runs here: in a child of its own session that is killed at its limit, and named."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from pytest_ascendenv.verdict import Unknown

GRACE = 0.5  # seconds for the kernel to reap a killed child; one stuck in an uninterruptible call is left behind


def run(argv: Sequence[str], seconds: float, what: str, env: Mapping[str, str] | None = None) -> str:
    """The standard output of a command.

    Raises Unknown where it did not return in ``seconds``, could not start, or failed; the text begins with ``what``
    (such as "stat of /data"), so that the finding names what hung.
    """
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env=env,
        )
    except OSError as error:
        raise Unknown(f"{what}: {error.strerror or error}") from error
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unknown(f"{what} did not return in {seconds:g} s") from None
    finally:
        _end(child)
    if child.returncode != 0:
        last = err.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        raise Unknown(f"{what}: {last[0]}")
    return out


def python(code: str, args: Sequence[str], seconds: float, what: str) -> str:
    """The output of a small Python program that imports nothing of the user's (isolated, without site)."""
    return run([sys.executable, "-I", "-S", "-c", code, *args], seconds, what)


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:  # in an uninterruptible call: it ends when that does, and nobody waits for it
            child.returncode = -signal.SIGKILL
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
