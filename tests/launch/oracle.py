"""Bash as the oracle: our own scripts run in a throw-away directory, stub launchers print what they get."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_ascendenv.launch import Launches, Word, read_launches

STUB = """#!{python} -IS
import json, os, sys
record = {{"argv": [os.path.basename(sys.argv[0])] + sys.argv[1:], "env": dict(os.environ)}}
with open(os.environ["ORACLE_LOG"], "a") as log:
    log.write(json.dumps(record) + "\\n")
"""
LAUNCHERS = ("torchrun", "msrun", "python", "python3", "mpirun", "accelerate", "deepspeed")
SYSTEM = (
    *("dirname", "basename", "realpath", "readlink", "expr", "seq", "cat", "cut", "tr", "wc", "head", "awk", "env"),
    *("nohup", "taskset", "nice", "timeout", "setsid", "tee", "mkdir", "rm", "bash", "sh", "date", "true", "false"),
)


@dataclass(frozen=True)
class Ran:
    argv: list[str]
    env: dict[str, str]


def run(script: str, folder: Path, args: tuple[str, ...] = (), env: dict[str, str] | None = None) -> list[Ran]:
    """Run a script of ours with nothing but stubs and text tools on its PATH; the launches in order of start."""
    stubs, work = folder / "stubs", folder / "work"
    stubs.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    for name in LAUNCHERS:
        (stubs / name).write_text(STUB.format(python=sys.executable))
        (stubs / name).chmod(0o755)
    for name in SYSTEM:
        if (found := shutil.which(name)) and not (stubs / name).exists():
            (stubs / name).symlink_to(found)
    (work / "script.sh").write_text(script)
    log = folder / "log"
    log.write_text("")
    environment = {"PATH": str(stubs), "ORACLE_LOG": str(log), "HOME": str(folder), **(env or {})}
    subprocess.run(
        [shutil.which("bash") or "/bin/bash", "script.sh", *args],
        cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
        start_new_session=True, check=False,
    )  # fmt: skip
    return [Ran(**json.loads(line)) for line in log.read_text().splitlines()]


def read(script: str, folder: Path, args: tuple[str, ...] = (), env: dict[str, str] | None = None) -> Launches:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / "script.sh").write_text(script)
    return read_launches("script.sh", args, env, work)


def disagreements(
    script: str, folder: Path, args: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> list[str]:
    """Where the interpreter claims to know and Bash says otherwise; nothing else is set, so conditions hold."""
    ran, claimed = run(script, folder, args, env), read(script, folder, args, env)
    if claimed.incomplete:
        return []
    certain = [launch for launch in claimed.launches if not launch.condition]
    if len(certain) == len(claimed.launches) and len(ran) != len(certain):
        return [f"{len(ran)} launches ran, {len(certain)} were read: {claimed.notes}"]
    if len(ran) != len(claimed.launches):
        return []
    found = []
    for real, launch in zip(ran, claimed.launches, strict=True):
        found += _argv(real.argv, launch.argv) + _env(real.env, launch.env)
    return found


def _claims(word: Word) -> bool:
    """Known, or conditional on nothing but a variable that the oracle's environment does not set."""
    reasons = word.reason.split("; ")
    return word.status == "known" or (
        word.status == "conditional"
        and all(each.startswith("the calling environment does not set") for each in reasons)
    )


def _argv(real: list[str], claimed: tuple[Word, ...]) -> list[str]:
    words = [word for word in claimed if not (word.splits and word.value == "" and _claims(word))]
    if any(word.splits and not _claims(word) for word in words):
        return _around(real, words)
    if len(real) != len(words):
        return [f"argv {real} was read as {[word.value for word in words]}"]
    claims = [word.value for word in words]
    claims[0] = os.path.basename(claims[0] or "")
    return [f"{a!r} was read as {b!r}" for a, b, w in zip(real, claims, words, strict=True) if _claims(w) and a != b]


def _around(real: list[str], words: list[Word]) -> list[str]:
    """Words before the first one of unknown number are in place."""
    first = next(i for i, word in enumerate(words) if word.splits and not _claims(word))
    return [
        f"{a!r} was read as {w.value!r}" for a, w in zip(real, words[:first], strict=False) if w.value not in (a, None)
    ]


def _env(real: dict[str, str], claimed: dict[str, Word] | object) -> list[str]:
    assert isinstance(claimed, dict)
    found = [
        f"{name}={real.get(name)!r} was read as {word.value!r}"
        for name, word in claimed.items()
        if _claims(word) and real.get(name) != word.value
    ]
    ours = {"PATH", "ORACLE_LOG", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    return found + [
        f"{name}={value!r} was not read" for name, value in real.items() if name not in claimed and name not in ours
    ]
