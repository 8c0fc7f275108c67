"""Block devices by sysfs: what a device is made of, down to the wire each disk hangs on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ascendenv.probes import sysfs
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.kinds import RANK, Kind
from pytest_ascendenv.probes.transports import Wire, wire_of
from pytest_ascendenv.verdict import Fact, Unknown


def worst(kinds: list[Kind]) -> Kind:
    return max(kinds, key=RANK.index, default="unknown")


@dataclass(frozen=True)
class Device:
    """One block device. ``below`` are the devices it is made of (a partition's disk, a RAID's members), ``backing`` the
    file of a loop device, ``wire`` how a disk without anything below it is connected."""

    name: str
    what: str
    where: str
    below: tuple[Device, ...] = ()
    backing: str = ""
    wire: Wire | None = None

    def walk(self) -> Iterator[Device]:
        yield self
        for device in self.below:
            yield from device.walk()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The chain from this device to its wires."""
        own = Fact("device", f"{self.name} ({self.what})" if self.what else self.name, self.where)
        wire = (Fact("transport", f"{self.name}: {self.wire.what}", self.wire.where),) if self.wire else ()
        return (own, *wire, *(fact for device in self.below for fact in device.facts))


def by_number(host: Host, number: str) -> Device:
    """The device of a "major:minor"; raises Unknown where sysfs does not show it."""
    link = host.path(f"/sys/dev/block/{number}")
    if not link.exists():
        raise Unknown(f"/sys/dev/block/{number}: no such device in sysfs")
    return _device(host, os.path.realpath(link))


def by_name(host: Host, source: str) -> Device:
    """The device that a mount's source such as /dev/sda1 or /dev/mapper/x names."""
    name = os.path.basename(source)
    for folder in _named(host, name):
        return _device(host, os.path.realpath(folder))
    raise Unknown(f"{source}: no such device in /sys/class/block")


def _named(host: Host, name: str) -> Iterator[str]:
    folder = host.path("/sys/class/block")
    if (folder / name).exists():
        yield str(folder / name)
    for label in sorted(folder.glob("dm-*/dm/name")):
        if label.read_text().strip() == name:
            yield str(label.parent.parent)


def members_of_btrfs(host: Host, source: str) -> tuple[Device, ...]:
    """All devices of the btrfs that holds ``source``: data may lie on any of them."""
    first = by_name(host, source)
    for folder in sorted(host.path("/sys/fs/btrfs").glob("*/devices")):
        names = sorted(os.listdir(folder))
        if first.name in names:
            return tuple(by_name(host, name) for name in names)
    return (first,)


def _device(host: Host, folder: str, depth: int = 0) -> Device:
    name = os.path.basename(folder)
    where = sysfs.shown(host, folder)
    if depth > 16:
        raise Unknown(f"{where}: more than 16 devices upon one another")
    if os.path.exists(os.path.join(folder, "partition")):
        disk = _device(host, os.path.dirname(folder), depth + 1)
        return Device(name, f"partition of {disk.name}", where, (disk,))
    backing = sysfs.read(folder, "loop/backing_file")
    if backing:
        return Device(name, f"loop device over {backing}", f"{where}/loop/backing_file", backing=backing)
    slaves = sysfs.entries(folder, "slaves")
    if slaves:
        below = tuple(_device(host, os.path.realpath(os.path.join(folder, "slaves", x)), depth + 1) for x in slaves)
        what = f"{_stack(folder, name)} over {', '.join(device.name for device in below)}"
        return Device(name, what, f"{where}/slaves", below)
    return Device(name, _model(folder), where, wire=wire_of(host, folder))


def _stack(folder: str, name: str) -> str:
    """What joins the devices below: an md level, a device-mapper target by its uuid's prefix, or the driver's name."""
    if level := sysfs.read(folder, "md/level"):
        return f"md {level}"
    if uuid := sysfs.read(folder, "dm/uuid"):
        return f"device-mapper {uuid.partition('-')[0]} {sysfs.read(folder, 'dm/name')}"
    return re.sub(r"\d+$", "", name)


def _model(folder: str) -> str:
    model = sysfs.read(folder, "device/model")
    return f"{sysfs.read(folder, 'device/vendor')} {model}".strip() if model else ""
