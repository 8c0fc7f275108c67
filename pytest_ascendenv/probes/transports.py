"""How a disk is connected: the words of ``lsblk -o TRAN``, read from sysfs as lsblk reads them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pytest_ascendenv.probes import sysfs
from pytest_ascendenv.probes.host import Host

NETWORK_DISKS = (
    "amazon elastic block store",
    "alibaba cloud elastic block storage",
    "nvme_card-pd",
    "msft nvme accelerator",
    "snap controller",
)
"""Parts of the models of NVMe disks that look like PCIe ones and lie behind a network: clouds and DPUs emulate them."""

HYPERVISOR_DISKS = ("qemu", "vmware", "virtual disk", "virtualbox", "vbox", "xen", "bochs", "o3vm", "nvme emulat")
RAID_DRIVERS = frozenset(
    [
        "megaraid_sas",
        "megaraid",
        "mpt3sas",
        "mpt2sas",
        "mptsas",
        "hpsa",
        "smartpqi",
        "aacraid",
        "arcmsr",
        "3w-9xxx",
        "3w-sas",
        "cciss",
        "ips",
        "hiraid",
        "sssraid",
        "spraid",
    ]
)
REMOTE_HOSTS = {"fc_host": "fc", "iscsi_host": "iscsi", "srp_host": "srp"}


@dataclass(frozen=True)
class Wire:
    """How one disk is connected. ``transport`` is lsblk's word, "virtio", "hypervisor", "raid", "memory" or "".

    ``remote``: the disk is reached over a network. ``rotational`` is what the queue says, or None where the transport
    makes that say nothing (a virtio disk says 1 whatever is behind it). ``where`` is the file that tells.
    """

    transport: str
    what: str
    where: str
    remote: bool = False
    rotational: bool | None = None


def wire_of(host: Host, folder: str) -> Wire:
    """The wire of the disk whose (real) sysfs folder is given."""
    name = os.path.basename(folder)
    shown = sysfs.shown(host, folder)
    for recognise in (_by_name, _nvme, _scsi):
        wire = recognise(host, folder, name, shown)
        if wire is not None:
            return wire
    return _by_path(folder, shown)


def _by_name(host: Host, folder: str, name: str, shown: str) -> Wire | None:
    table = (
        (r"zram\d|ram\d", Wire("memory", "memory of this host", shown)),
        (r"rbd\d", Wire("rbd", "Ceph RBD, a block device over the network", shown, remote=True)),
        (r"nbd\d", Wire("nbd", "network block device", shown, remote=True)),
        (r"drbd\d", Wire("drbd", "DRBD, written over the network", shown, remote=True)),
        (r"zd\d", Wire("", "a ZFS volume, whose disks sysfs does not show", shown)),
        (r"ublkb\d", Wire("", "a block device of a user process", shown)),
        (r"pmem\d", Wire("pmem", "persistent memory", shown, rotational=False)),
        (r"mmcblk\d", Wire("mmc", "flash card", shown, rotational=False)),
        (r"xvd[a-z]", Wire("hypervisor", "Xen disk: the hypervisor does not say what is behind it", shown)),
    )
    return next((wire for pattern, wire in table if re.match(pattern, name)), None)


def _nvme(host: Host, folder: str, name: str, shown: str) -> Wire | None:
    """NVMe: by every controller of the namespace, since native multipath shows one node for several."""
    if not re.match(r"nvme\d+(c\d+)?n\d+$", name):
        return None
    controllers = _controllers(host, folder)
    words = {sysfs.read(c, "transport") for c in controllers} - {""}
    model = next((m for c in controllers if (m := sysfs.read(c, "model"))), "")
    where = f"/sys/class/nvme/{controllers[0].name}/transport" if controllers else shown
    fabrics = words - {"pcie", "apple-nvme"}
    if not words:
        return Wire("", "NVMe without a transport in sysfs", where)
    if fabrics == {"loop"}:
        return Wire("", f"NVMe over loop, {model}", where)
    if fabrics:
        return Wire("nvme", f"NVMe over {'/'.join(sorted(fabrics))}, {model}", where, remote=True)
    return _pcie(model, where, _rotational(folder))


def _pcie(model: str, where: str, rotational: bool | None) -> Wire:
    if any(part in model.lower() for part in NETWORK_DISKS):
        return Wire("nvme", f"NVMe (pcie), {model}: a network disk of the cloud", where, remote=True)
    if any(part in model.lower() for part in HYPERVISOR_DISKS):
        return Wire("hypervisor", f"NVMe (pcie), {model}: emulated by the hypervisor", where)
    return Wire("nvme", f"NVMe (pcie), {model}", where, rotational=rotational)


def _controllers(host: Host, folder: str) -> list[Path]:
    """The controllers above a namespace: its parent, or all those of its subsystem."""
    parent = Path(folder).parent
    if re.fullmatch(r"nvme\d+", parent.name):
        return [parent]
    subsystem = host.path(f"/sys/class/nvme-subsystem/{parent.name}")
    return sorted(path for path in subsystem.glob("nvme*") if re.fullmatch(r"nvme\d+", path.name))


def _scsi(host: Host, folder: str, name: str, shown: str) -> Wire | None:
    found = re.search(r"/(host\d+)/", folder)
    if not found:
        return None
    scsi_host = found[1]
    path = shown
    remote = next((w for c, w in REMOTE_HOSTS.items() if host.path(f"/sys/class/{c}/{scsi_host}").exists()), "")
    if re.search(r"/session\d+/", path) or remote == "iscsi":
        return Wire("iscsi", "iSCSI, a disk over the network", shown, remote=True)
    if "/rport-" in path or remote:
        word = remote or "fc"
        return Wire(word, f"{word.upper()} storage network", shown, remote=True)
    return _direct_scsi(host, folder, path, scsi_host, shown)


def _direct_scsi(host: Host, folder: str, path: str, scsi_host: str, shown: str) -> Wire:
    """A SCSI disk that no storage network shows; some buses name the disk's medium, others hide it."""
    driver = sysfs.read(host.path(f"/sys/class/scsi_host/{scsi_host}/proc_name"))
    model = f"{sysfs.read(folder, 'device/vendor')} {sysfs.read(folder, 'device/model')}".strip()
    if re.search(r"/virtio\d+/|/vmbus|/VMBUS|/xen|/vbd-", path) or _emulated(model):
        return Wire("hypervisor", f"{model or driver}: the hypervisor does not say what is behind it", shown)
    if re.search(r"/usb\d+/", path):
        return Wire("usb", f"USB, {model}", shown)
    if re.search(r"/ata\d+/", path):
        return Wire("sata", f"SATA, {model}", shown, rotational=_rotational(folder))
    if "/end_device-" in path:
        return Wire("sas", f"SAS, {model} ({driver})", shown, rotational=_rotational(folder))
    if driver in RAID_DRIVERS:
        return Wire("raid", f"volume of a RAID controller ({driver}), {model}", shown)
    return Wire("", f"SCSI disk of driver {driver or 'unknown'}, {model}", shown)


def _emulated(model: str) -> bool:
    return any(part in model.lower() for part in HYPERVISOR_DISKS)


def _by_path(folder: str, shown: str) -> Wire:
    if re.search(r"/virtio\d+/", folder):
        return Wire("virtio", "virtio disk: the hypervisor does not say what is behind it", shown)
    if re.search(r"/vbd-\d+", folder):
        return Wire("hypervisor", "Xen disk: the hypervisor does not say what is behind it", shown)
    return Wire("", "no known transport in its sysfs path", shown)


def _rotational(folder: str) -> bool | None:
    word = sysfs.read(folder, "queue/rotational")
    return {"0": False, "1": True}.get(word)
