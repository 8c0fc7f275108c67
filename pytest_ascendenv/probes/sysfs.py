"""Reading sysfs: small files and folders of links, absent ones being empty."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_ascendenv.probes.host import Host


def read(folder: str | Path, name: str = "") -> str:
    """The text of one attribute, or "" where it is not there."""
    try:
        return Path(folder, name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def entries(folder: str | Path, name: str = "") -> list[str]:
    try:
        return sorted(os.listdir(Path(folder, name)))
    except OSError:
        return []


def shown(host: Host, folder: str) -> str:
    """A resolved folder of the host's tree by the name that it has on that host."""
    root = os.path.realpath(host.root)
    return folder if root == "/" else folder.removeprefix(root)
