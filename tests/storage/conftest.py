"""Captured hosts: a mount table and the part of sysfs that it leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.host import Host

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
