"""Where the probes read: the files of this host, or those of a captured or made-up one below a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ascendenv.verdict import Unknown


@dataclass(frozen=True)
class Host:
    """The root of the files that are read (``/`` or a fake tree) and the environment of the judged process.

    ``environ`` is a copy taken when the plugin is configured: ``import mindspore`` itself sets variables later on.
    A fake host must not mix with the real one, so ``real`` guards what only system calls can tell.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)  # it may hold secrets

    @property
    def real(self) -> bool:
        return self.root == Path("/")

    def path(self, name: str) -> Path:
        """The file that stands for the absolute path ``name`` on this host."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """The text of a file; raises Unknown with the file's name and the system's words."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise Unknown(f"{name}: {error.strerror or error}") from error
