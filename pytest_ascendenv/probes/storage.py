"""Where a path really lives: path -> mount -> device -> transport, with every step kept as a fact."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_ascendenv.probes import devices, mounts, paths
from pytest_ascendenv.probes.devices import Device, worst
from pytest_ascendenv.probes.filesystems import HYPERVISOR, MEMORY, Family, family
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.kinds import Kind
from pytest_ascendenv.probes.mounts import Mount
from pytest_ascendenv.probes.paths import Located
from pytest_ascendenv.verdict import Fact, Unknown

DEPTH = 8  # file systems upon one another (an image on an overlay on an image …)
LOCAL: frozenset[Kind] = frozenset(["local-ssd", "local-hdd", "local-unknown"])


@dataclass(frozen=True)
class Storage:
    """Where one path lives.

    ``kind`` is one of ``kinds.RANK``; ``chain`` the steps that led there; ``reason`` why no more than that is known.
    Where the path does not exist, ``missing`` names it and everything else speaks of its nearest existing parent.
    ``treated`` is the site's own word for the kind where the settings override what was found. ``disks`` are the
    disks at the ends of the chain, as far as sysfs shows them.
    """

    path: str
    kind: Kind
    chain: tuple[Fact, ...]
    located: Located
    mount: Mount
    reason: str = ""
    treated: Fact | None = None
    disks: tuple[Device, ...] = ()

    @property
    def missing(self) -> str:
        return self.located.missing

    @property
    def real(self) -> str:
        """The path (or its nearest existing parent) without links."""
        return self.located.real

    @property
    def filesystem(self) -> str:
        return self.mount.filesystem

    @property
    def mount_point(self) -> str:
        return self.mount.mount_point

    @property
    def source(self) -> str:
        return self.mount.source

    @property
    def in_memory(self) -> bool:
        """The file system itself is memory, whatever the settings say of it."""
        return self.filesystem in MEMORY

    @property
    def is_local(self) -> bool:
        """On a disk of this host, as far as the host can tell; memory is not a disk."""
        return self.kind in LOCAL

    def __str__(self) -> str:
        return f"{self.path} on {self.kind} ({self.filesystem}, {self.mount_point})"


def resolve(
    host: Host, path: str, treat_as: Mapping[str, Kind] | None = None, seconds: float = paths.SECONDS
) -> Storage:
    """Where ``path`` lives. ``treat_as`` maps folders to the kind that the site says they are; the longest match wins.

    Raises Unknown where the path cannot be looked at: no permission, or a dead mount ("stat of PATH did not return in
    N s").
    """
    found = _resolve(host, path, seconds, 0)
    named = _treated(host, found, treat_as or {})
    if named is None:
        return found
    return replace(found, kind=named.value, treated=named, chain=(*found.chain, named))


def _treated(host: Host, found: Storage, treat_as: Mapping[str, Kind]) -> Fact | None:
    own = (paths.absolute(host, found.path), found.real)
    for folder, kind in sorted(treat_as.items(), key=lambda item: -len(item[0])):
        top = os.path.normpath(paths.absolute(host, folder))
        if any(path == top or path.startswith(top.rstrip("/") + "/") for path in own):
            return Fact("treated as", kind, f"treat_as, {folder}")
    return None


def _resolve(host: Host, path: str, seconds: float, depth: int) -> Storage:
    if depth > DEPTH:
        raise Unknown(f"{path}: more than {DEPTH} file systems upon one another")
    located = paths.locate(host, path, seconds)
    mount = _mount(host, located)
    steps = (*_path_step(located), Fact("mount", str(mount), mount.where))
    base = Storage(path, "unknown", steps, located, mount)
    kin = family(mount.filesystem, mount.source)
    if kin in _BY_FAMILY:
        return replace(base, kind=_BY_FAMILY[kin], reason=_why_by_family(kin, mount))
    try:
        return {"block": _block, "overlay": _overlay, "mirror": _mirror}[kin](host, base, seconds, depth)
    except Unknown as unknown:
        return replace(base, reason=str(unknown), kind="container-layer" if kin == "overlay" else "unknown")


_BY_FAMILY: dict[Family, Kind] = {
    "shared": "shared",
    "object": "object",
    "memory": "ram",
    "layered": "container-layer",
    "unknown": "unknown",
}


def _why_by_family(kin: Family, mount: Mount) -> str:
    if kin == "layered":
        return f"{mount.filesystem} does not name its directories"
    if kin == "shared" and mount.filesystem in HYPERVISOR:
        return f"{mount.filesystem} is a share of the machine below: not provably a disk of this host"
    return _why_unknown(mount) if kin == "unknown" else ""


def _path_step(located: Located) -> tuple[Fact, ...]:
    if located.missing:
        return (Fact("path", f"{located.missing} does not exist; nearest parent {located.real}", "realpath"),)
    link = located.path if located.path == located.real else f"{located.path} -> {located.real}"
    return (Fact("path", link, "realpath"),)


def _mount(host: Host, located: Located) -> Mount:
    """By the mount id that the kernel gave for the open path; by its name where it gave none."""
    table = mounts.read(host)
    if located.mount_id is not None and (mount := mounts.by_id(table, located.mount_id)):
        return mount
    mount = mounts.by_path(table, located.real)
    if located.device and not mount.anonymous and mount.device != located.device:
        raise Unknown(f"{located.real} is on device {located.device}, but {mount.where} says {mount.device}")
    return mount


def _why_unknown(mount: Mount) -> str:
    if mount.filesystem == "autofs":
        return "an automount point on which nothing was mounted"
    if mount.filesystem.startswith("fuse"):
        return f"{mount.filesystem} is a FUSE file system whose storage is not known"
    return f"file system type {mount.filesystem} is not known"


def _block(host: Host, base: Storage, seconds: float, depth: int) -> Storage:
    if base.mount.anonymous and not base.mount.source.startswith("/dev/"):
        return _image(host, base, seconds, depth)
    tops = _disks(host, base.mount)
    leaves = [device for top in tops for device in top.walk() if not device.below]
    parts = [_leaf(host, leaf, seconds, depth) for leaf in leaves]
    kind = worst([part.kind for part in parts])
    reason = next((part.reason for part in parts if part.kind == kind), "")
    facts = (fact for top in tops for fact in top.facts)
    chain = (*base.chain, *facts, *(fact for part in parts for fact in part.chain))
    disks = tuple(dict.fromkeys(disk for part in parts for disk in part.disks))
    return replace(base, kind=kind, reason=reason, disks=disks, chain=chain)


def _disks(host: Host, mount: Mount) -> tuple[Device, ...]:
    if mount.filesystem == "btrfs":
        return devices.members_of_btrfs(host, mount.source)
    if not mount.anonymous:
        return (devices.by_number(host, mount.device),)
    return tuple(devices.by_name(host, source) for source in mount.source.split(":"))


class _Part(NamedTuple):
    """What one leaf of the stack of devices says."""

    kind: Kind
    reason: str = ""
    chain: tuple[Fact, ...] = ()
    disks: tuple[Device, ...] = ()


def _leaf(host: Host, leaf: Device, seconds: float, depth: int) -> _Part:
    """A loop device is where its file is: an image on a network file system only looks like a disk."""
    if not leaf.backing:
        kind = kind_of_disk(leaf)
        told = kind in ("unknown", "local-unknown") and leaf.wire
        return _Part(kind, f"{leaf.name}: {leaf.wire.what}" if told and leaf.wire else "", (), (leaf,))
    below = _resolve(host, leaf.backing, seconds, depth + 1)
    if below.missing:
        raise Unknown(f"{leaf.name}: its file {leaf.backing} is not visible here")
    return _Part(below.kind, below.reason, below.chain, below.disks)


def _image(host: Host, base: Storage, seconds: float, depth: int) -> Storage:
    """A local file system without a device number: its source is an image file, or a pool that sysfs does not show."""
    source = base.mount.source
    if not source.startswith("/"):
        raise Unknown(f"the disks of {base.filesystem} {source} are not visible in sysfs")
    below = _resolve(host, source, seconds, depth + 1)
    if below.missing:
        raise Unknown(f"the source {source} of {base.mount_point} is not visible here")
    return replace(base, kind=below.kind, chain=(*base.chain, *below.chain), reason=below.reason, disks=below.disks)


def kind_of_disk(leaf: Device) -> Kind:
    """By its wire; a loop device has none and is "unknown" here."""
    wire = leaf.wire
    if wire is None:
        return "unknown"
    if wire.remote:
        return "remote-block"
    if wire.rotational is not None:
        return "local-hdd" if wire.rotational else "local-ssd"
    by_transport: dict[str, Kind] = {"memory": "ram", "": "unknown"}
    return by_transport.get(wire.transport, "local-unknown")


def _overlay(host: Host, base: Storage, seconds: float, depth: int) -> Storage:
    """An overlay is as far away as its farthest layer, if the layers it names are really the ones we can see."""
    layers = _layers(base.mount)
    if not layers or not all(layer.startswith("/") for layer in layers):
        raise Unknown("the layers of the overlay are not named by absolute paths")
    found = [_resolve(host, layer, seconds, depth + 1) for layer in layers]
    hidden = next((storage for storage in found if storage.missing), None)
    if hidden:
        raise Unknown(f"the layer {hidden.path} is not visible here (it belongs to the container's host)")
    if not host.real:
        raise Unknown("that these layers are the ones in use cannot be proved on a captured host")
    if not _same_top(host, base.mount, found, seconds):
        raise Unknown(f"{layers[0]} is not the layer that the overlay shows")
    return _over(base, found)


def _layers(mount: Mount) -> tuple[str, ...]:
    """The writable layer first; lower ones are joined by colons, or given one by one as ``lowerdir+``."""
    lower = mount.option("lowerdir") or ""
    split = [part.replace("\\:", ":") for part in lower.replace("\\:", "\0").split(":") if part]
    joined = [part.replace("\0", ":") for part in split]
    upper = mount.option("upperdir")
    return (*([upper] if upper else []), *joined, *mount.options_named("lowerdir+"), *mount.options_named("datadir+"))


def _same_top(host: Host, mount: Mount, layers: list[Storage], seconds: float) -> bool:
    """The top of an overlay has the stamps of its topmost layer's directory."""
    inside = mount.root.lstrip("/")
    shown = paths.locate(host, mount.mount_point, seconds)
    for layer in layers:
        own = paths.locate(host, os.path.join(layer.path, inside), seconds)
        if not own.missing:
            return shown.same_object(own)
    return False


def _over(base: Storage, parts: list[Storage]) -> Storage:
    chain = tuple(fact for part in parts for fact in part.chain)
    kind = worst([part.kind for part in parts])
    reason = next((part.reason for part in parts if part.kind == kind), "")
    disks = tuple(dict.fromkeys(disk for part in parts for disk in part.disks))
    return replace(base, kind=kind, chain=(*base.chain, *chain), reason=reason, disks=disks)


def _mirror(host: Host, base: Storage, seconds: float, depth: int) -> Storage:
    """A file system that shows the directory in its source, which is believed only where both show the same stamps."""
    source = os.path.join(base.mount.source, base.mount.root.lstrip("/")).rstrip("/")
    below = _resolve(host, source, seconds, depth + 1) if source.startswith("/") else None
    if below is None or below.missing:
        raise Unknown(f"{base.filesystem} shows {base.mount.source}, which is not visible here")
    if not host.real:
        raise Unknown(f"that {base.filesystem} shows {source} cannot be proved on a captured host")
    if not paths.locate(host, base.mount_point, seconds).same_object(below.located):
        raise Unknown(f"{base.mount_point} does not show what is in its source {source}")
    return _over(base, [below])
