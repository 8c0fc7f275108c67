"""Captured hosts (a mount table and the part of sysfs that it leads to), and real mounts."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pytest_ascendenv
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.host import Host

PACKAGES = str(Path(pytest_ascendenv.__file__).parents[1])  # the package under test, installed or not
ROOT_MOUNT = "20 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw"


class Tree:
    """/proc and /sys of another host below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, name: str, text: str) -> None:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def link(self, name: str, target: str) -> None:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(self.root / target.lstrip("/"), path.parent))

    def mounts(self, *lines: str) -> None:
        self.file("/proc/self/mountinfo", "\n".join([ROOT_MOUNT, *lines]))

    def block(self, number: str, folder: str, slaves: tuple[str, ...] = (), **files: str) -> None:
        """A block device at /sys/devices/``folder``; a file's "/" is written "__"."""
        where = f"/sys/devices/{folder}"
        self.file(f"{where}/dev", number)
        for name, text in files.items():
            self.file(f"{where}/{name.replace('__', '/')}", text)
        for slave in slaves:
            self.link(f"{where}/slaves/{slave.rsplit('/', 1)[-1]}", f"/sys/devices/{slave}")
        self.link(f"/sys/dev/block/{number}", where)
        self.link(f"/sys/class/block/{folder.rsplit('/', 1)[-1]}", where)

    def env(self, **declared: object) -> AscendEnv:
        return AscendEnv(Host(self.root, {}), Declared(**declared))  # type: ignore[arg-type]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "captured")


class Mounts:
    """Real mounts in namespaces of their own: they and their daemons are gone when the program is."""

    PROLOGUE = "set -e; mount --make-rprivate / ; cd {work}\n"

    def __init__(self, work: Path) -> None:
        self.work = work

    def run(self, setup: str, program: str) -> dict[str, object]:
        """Mount by shell commands (in ``work``), then run a Python program there; what it prints is JSON."""
        script = self.PROLOGUE.format(work=self.work) + setup + '\nexec "$PYTHON" "$PROGRAM"\n'
        file = self.work / "program.py"
        file.write_text(textwrap.dedent(program))
        environ = {**os.environ, "PYTHON": sys.executable, "PROGRAM": str(file), "PYTHONPATH": PACKAGES}
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def kinds(self, setup: str, *paths: str) -> dict[str, dict[str, str]]:
        """What is said of each path (relative to ``work``): kind, reason, and the names and values of the chain."""
        program = f"""
            import json
            from pytest_ascendenv.environment import AscendEnv
            found = {{}}
            for name in {list(paths)!r}:
                seen = AscendEnv().storage({str(self.work)!r} + "/" + name)
                chain = [(fact.name, str(fact.value)) for fact in seen.chain]
                found[name] = dict(kind=seen.kind, reason=seen.reason, filesystem=seen.filesystem, chain=chain)
            print(json.dumps(found))
            """
        return self.run(setup, program)  # type: ignore[return-value]


@functools.lru_cache
def why_no_mounts() -> str:
    """Why mounts cannot be made here, or ""."""
    if os.geteuid() != 0:
        return "making mounts needs root"
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


@pytest.fixture
def mounts(tmp_path: Path) -> Mounts:
    if why := why_no_mounts():
        pytest.skip(f"no mounts can be made here: {why}")
    return Mounts(tmp_path)


@pytest.fixture
def here(tmp_path: Path) -> str:
    """The kind of the disk that the test's own files are on."""
    return AscendEnv().storage(str(tmp_path)).kind
