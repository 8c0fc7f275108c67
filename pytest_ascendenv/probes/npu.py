"""The NPUs that this process can see, without npu-smi: device nodes and ASCEND_RT_VISIBLE_DEVICES."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Fact

NODE = re.compile(r"davinci(\d+)\Z")
VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


def nodes(host: Host) -> tuple[int, ...]:
    """The numbers of /dev/davinciN, in order; in a container only the devices that were given to it."""
    try:
        names = os.listdir(host.path("/dev"))
    except OSError:
        return ()
    return tuple(sorted(int(match[1]) for name in names if (match := NODE.match(name))))


def visible(present: Sequence[int], value: str | None) -> tuple[int, ...]:
    """The devices that CANN counts: those listed, in rising order, up to the first one that is wrong or absent.

    With None (unset) all that are present.
    """
    if value is None:
        return tuple(present)
    chosen: list[int] = []
    for word in value.split(","):
        if not (word.isascii() and word.isdigit()) or int(word) not in present or (chosen and int(word) <= chosen[-1]):
            break
        chosen.append(int(word))
    return tuple(chosen)


def devices(host: Host) -> Fact:
    """The devices a job started here would see, as a tuple of numbers; () where there is none."""
    present, value = nodes(host), host.environ.get(VISIBLE)
    source = "/dev/davinci*" + (f", {VISIBLE}={value}" if present and value is not None else "")
    return Fact("visible NPUs", visible(present, value), source)
