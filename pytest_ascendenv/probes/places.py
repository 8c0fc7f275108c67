"""The local disks of a host: where data could be copied to."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ascendenv.probes import devices, mounts
from pytest_ascendenv.probes.filesystems import family
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.kinds import RANK, Kind
from pytest_ascendenv.probes.storage import kind_of_disk
from pytest_ascendenv.verdict import Unknown

SYSTEM = ("/boot", "/snap", "/etc", "/run", "/var/lib/docker", "/var/lib/kubelet", "/var/lib/containers")


@dataclass(frozen=True)
class Place:
    """A writable file system on disks of this host."""

    mount_point: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.mount_point} ({self.kind})"


def local_places(host: Host) -> tuple[Place, ...]:
    """Every writable local file system with its kind, the best first; by mount table and sysfs, so nothing can hang."""
    found: dict[str, Place] = {}
    for mount in mounts.read(host):
        kind = _kind(host, mount)
        if kind.startswith("local-") and not mount.mount_point.startswith(SYSTEM):
            found.setdefault(mount.device, Place(mount.mount_point, kind))
    return tuple(sorted(found.values(), key=lambda place: RANK.index(place.kind)))


def _kind(host: Host, mount: mounts.Mount) -> Kind:
    if family(mount.filesystem, mount.source) != "block" or mount.anonymous or mount.read_only or mount.root != "/":
        return "unknown"
    try:
        top = devices.by_number(host, mount.device)
    except Unknown:
        return "unknown"
    return devices.worst([kind_of_disk(disk) for disk in top.walk() if not disk.below])
