"""The resource limits of this process, which a job started from here inherits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

LIMITS = "/proc/self/limits"
UNLIMITED = 2**63 - 1


@dataclass(frozen=True)
class Limit:
    """One row of /proc/self/limits; "unlimited" is ``UNLIMITED``."""

    name: str
    soft: int
    hard: int
    source: str = LIMITS


def limit(host: Host, name: str) -> Limit:
    """The limit of that name, such as "Max open files" or "Max processes"; raises Unknown where it is not listed."""
    found = re.search(rf"^{re.escape(name)}\s+(\S+)\s+(\S+)", host.read(LIMITS), re.MULTILINE)
    if not found:
        raise Unknown(f"{LIMITS}: no row {name!r}")
    return Limit(name, _number(found[1]), _number(found[2]))


def _number(word: str) -> int:
    return UNLIMITED if word == "unlimited" else int(word)
