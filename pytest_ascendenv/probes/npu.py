"""The NPUs without npu-smi: device nodes, ASCEND_RT_VISIBLE_DEVICES and the PCI bus."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Fact, Unknown

NODE = re.compile(r"davinci(\d+)\Z")
VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
PCI = "/sys/bus/pci/devices"
HUAWEI = "19e5"
CHIPS = {"d100": "310", "d500": "310P", "d801": "910A", "d802": "910B (Atlas A2)", "d803": "910C (Atlas A3)"}
"""PCI device ids of NPUs. The vendor alone is not enough: HiSilicon's ZIP and SEC engines carry it too."""


@dataclass(frozen=True)
class Card:
    """One NPU on the PCI bus; ``numa`` is -1 and ``local`` is () where the firmware does not tell.

    The order of addresses is not that of NPU numbers: on an Atlas A2 NPU 0 is c1:00.0.
    """

    address: str
    chip: str
    numa: int
    local: tuple[int, ...]


class Npus:
    """The NPUs of a host: the device nodes given to this process, those a job sees, and the cards on the bus."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        return nodes(self._host)

    @property
    def visible(self) -> tuple[int, ...]:
        return tuple(devices(self._host).value)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        return cards(self._host)

    @property
    def installed(self) -> int:
        """How many NPUs the host has: a container may hold fewer nodes than the bus shows cards."""
        return max(len(self.nodes), len(self.cards))


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


def cards(host: Host) -> tuple[Card, ...]:
    """The NPUs on the PCI bus, by address; () where there is none or no bus to read."""
    try:
        addresses = sorted(os.listdir(host.path(PCI)))
    except OSError:
        return ()
    return tuple(card for address in addresses if (card := _card(host, address)) is not None)


def _card(host: Host, address: str) -> Card | None:
    if _attribute(host, address, "vendor") != HUAWEI or _attribute(host, address, "device") not in CHIPS:
        return None
    numa, local = _attribute(host, address, "numa_node"), _attribute(host, address, "local_cpulist")
    try:
        cores = cpulist.parse(local)
    except ValueError:
        cores = ()
    return Card(address, CHIPS[_attribute(host, address, "device")], int(numa) if numa.isdigit() else -1, cores)


def _attribute(host: Host, address: str, name: str) -> str:
    try:
        return host.read(f"{PCI}/{address}/{name}").strip().removeprefix("0x")
    except Unknown:
        return ""
