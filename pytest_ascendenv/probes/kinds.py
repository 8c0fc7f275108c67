"""Where data can live."""

from __future__ import annotations

import typing
from typing import Literal

Kind = Literal[
    "local-ssd",
    "local-hdd",
    "ram",
    "local-unknown",
    "container-layer",
    "unknown",
    "object",
    "remote-block",
    "shared",
]
"""From provably on this host to provably elsewhere."""

RANK: tuple[Kind, ...] = typing.get_args(Kind)
"""In that order: data that is spread over several places is as far away as its farthest part."""
