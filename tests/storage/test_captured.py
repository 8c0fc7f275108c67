"""Hosts that cannot be made here: each mount line and device tree, and the kind of storage it is."""

from __future__ import annotations

import pytest

CAPTURED = [
    ("shared", "nfs4", "41 20 0:52 / /d rw,relatime - nfs4 10.0.0.7:/export rw,vers=4.2,hard,proto=tcp"),
    ("shared", "nfs", "41 20 0:52 / /d rw - nfs sfs-turbo.cn-north-4.myhuaweicloud.com:/ rw,vers=3,nolock"),
    ("shared", "lustre", "41 20 0:52 / /d rw,flock - lustre 10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch rw,lazystatfs"),
    ("shared", "OceanStor dpc", "41 20 0:52 / /d rw,relatime - dpc /llmdir rw"),
    ("shared", "OceanStor dpc with a system", "41 20 0:52 / /d rw - dpc system:/fs rw,cnflush"),
    ("shared", "gpfs", "41 20 0:52 / /d rw,relatime - gpfs gpfs0 rw"),
    (
        "shared",
        "ceph",
        "41 20 0:52 / /d rw - ceph 10.0.0.1:6789,10.0.0.2:6789:/v rw,name=k8s,secret=<hidden>",
    ),
    ("shared", "beegfs", "41 20 0:52 / /d rw,relatime - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs.conf"),
    ("shared", "virtiofs", "41 20 0:52 / /d rw,relatime - virtiofs kataShared rw"),
    ("shared", "9p", "41 20 0:52 / /d rw - 9p hostshare rw,trans=virtio,version=9p2000.L"),
    ("shared", "cifs", "41 20 0:52 / /d rw - cifs //nas/data rw,vers=3.1.1"),
    ("shared", "weka", "41 20 0:52 / /d rw - wekafs 10.0.0.9/default rw"),
    ("shared", "a type nobody knows, with a host", "41 20 0:52 / /d rw - newfs head:/vol rw"),
    ("shared", "sshfs", "41 20 0:52 / /d rw - fuse.sshfs me@login:/home rw"),
    ("shared", "glusterfs", "41 20 0:52 / /d rw - fuse.glusterfs gl1:/gv0 rw"),
    ("object", "obsfs", "41 20 0:52 / /d rw,nosuid,nodev - fuse.obsfs obsfs rw,user_id=0,group_id=0,allow_other"),
    ("object", "s3fs", "41 20 0:52 / /d rw - fuse.s3fs s3fs rw,user_id=0"),
    ("object", "juicefs", "41 20 0:52 / /d rw,relatime - fuse.juicefs JuiceFS:train rw,user_id=0,allow_other"),
    ("object", "rclone", "41 20 0:52 / /d rw - fuse.rclone obs:bucket rw"),
    ("object", "a FUSE whose source names the client", "41 20 0:52 / /d rw - fuse JuiceFS:train rw"),
    ("container-layer", "docker", "41 20 0:52 / /d rw - overlay overlay rw,lowerdir=/docker/l/A,upperdir=/u"),
    ("container-layer", "podman", "41 20 0:52 / /d rw - fuse.fuse-overlayfs fuse-overlayfs rw"),
    ("ram", "an emptyDir in memory", "41 20 0:52 / /d rw,relatime - tmpfs tmpfs rw,size=67108864k"),
    ("ram", "hugetlbfs", "41 20 0:52 / /d rw - hugetlbfs nodev rw,pagesize=2M"),
    ("unknown", "an unknown FUSE", "41 20 0:52 / /d rw - fuse.newthing newthing rw"),
    ("unknown", "an automount point", "41 20 0:52 / /d rw - autofs /etc/auto.data rw,fd=5,indirect"),
    ("unknown", "zfs", "41 20 0:52 / /d rw - zfs tank/data rw,xattr,noacl"),
    ("unknown", "a type nobody knows", "41 20 0:52 / /d rw - newfs something rw"),
]


@pytest.mark.parametrize(("kind", "name", "line"), CAPTURED, ids=[name for _, name, _ in CAPTURED])
def test_file_systems(tree, kind, name, line):
    tree.mounts(line)
    storage = tree.env().storage("/d/coco")
    assert storage.kind == kind
    assert storage.mount_point == "/d"
    assert storage.chain[1].source == "/proc/self/mountinfo:2"
    assert bool(storage.reason) == (kind in ("unknown", "container-layer") or storage.filesystem in ("virtiofs", "9p"))


PCI = "pci0000:3a/0000:3a:00.0/0000:3b:00.0"
NVME = f"/sys/devices/{PCI}/nvme/nvme0"
SSD = {"queue__rotational": "0"}
DISKS = [
    ("local-ssd", "SATA SSD", f"{PCI}/ata3/host2/target2:0:0/2:0:0:0/block/sdb", SSD, {}),
    ("local-hdd", "SATA disk", f"{PCI}/ata3/host2/target2:0:0/2:0:0:0/block/sdb", {"queue__rotational": "1"}, {}),
    (
        "local-hdd",
        "SAS disk",
        f"{PCI}/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdb",
        {"queue__rotational": "1"},
        {"/sys/class/scsi_host/host0/proc_name": "hisi_sas_v3_hw", "/sys/class/sas_host/host0/x": ""},
    ),
    (
        "local-unknown",
        "volume of a RAID controller, which calls an SSD rotating",
        f"{PCI}/host0/target0:2:0/0:2:0:0/block/sdb",
        {"queue__rotational": "1", "device__vendor": "AVAGO", "device__model": "MR9361-8i"},
        {"/sys/class/scsi_host/host0/proc_name": "megaraid_sas"},
    ),
    (
        "local-unknown",
        "USB",
        f"{PCI}/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb",
        SSD,
        {},
    ),
    ("local-unknown", "virtio-blk", f"{PCI}/virtio1/block/vdb", {"queue__rotational": "1"}, {}),
    (
        "local-unknown",
        "virtio-scsi",
        f"{PCI}/virtio1/host0/target0:0:0/0:0:0:1/block/sdb",
        SSD,
        {},
    ),
    (
        "local-unknown",
        "a virtual machine's SATA disk",
        f"{PCI}/ata1/host0/target0:0:0/0:0:0:0/block/sdb",
        {"queue__rotational": "0", "device__vendor": "ATA", "device__model": "QEMU HARDDISK"},
        {},
    ),
    (
        "unknown",
        "a driver that says nothing",
        f"{PCI}/host0/target0:0:0/0:0:0:0/block/sdb",
        SSD,
        {},
    ),
    (
        "remote-block",
        "iSCSI",
        "platform/host11/session4/target11:0:0/11:0:0:1/block/sdb",
        {"queue__rotational": "0", "device__model": "LUN"},
        {"/sys/class/iscsi_host/host11/x": "", "/sys/class/scsi_host/host11/proc_name": "iscsi_tcp"},
    ),
    (
        "remote-block",
        "FC",
        f"{PCI}/host15/rport-15:0-2/target15:0:0/15:0:0:1/block/sdb",
        SSD,
        {},
    ),
    (
        "remote-block",
        "SRP, seen only by its host's class",
        f"{PCI}/host9/target9:0:0/9:0:0:1/block/sdb",
        {},
        {"/sys/class/srp_host/host9/x": ""},
    ),
    (
        "local-ssd",
        "NVMe",
        f"{PCI}/nvme/nvme0/nvme0n1",
        SSD,
        {
            f"{NVME}/transport": "pcie",
            f"{NVME}/model": "HWE62P443T2L005N",
        },
    ),
    (
        "remote-block",
        "a cloud's volume that looks like NVMe",
        f"{PCI}/nvme/nvme0/nvme0n1",
        SSD,
        {
            f"{NVME}/transport": "pcie",
            f"{NVME}/model": "Amazon Elastic Block Store",
        },
    ),
    ("remote-block", "Ceph RBD", "rbd/0/block/rbd0", SSD, {}),
    ("remote-block", "nbd", "virtual/block/nbd0", SSD, {}),
    ("ram", "zram", "virtual/block/zram0", SSD, {}),
    ("local-ssd", "persistent memory", "LNXSYSTM:00/ndbus0/region0/namespace0.0/block/pmem0", {}, {}),
]


@pytest.mark.parametrize(("kind", "name", "folder", "attributes", "files"), DISKS, ids=[disk[1] for disk in DISKS])
def test_disks(tree, kind, name, folder, attributes, files):
    tree.mounts("41 20 8:16 / /d rw,relatime - xfs /dev/disk rw")
    tree.block("8:16", folder, **attributes)
    for file, text in files.items():
        tree.file(file, text)
    storage = tree.env().storage("/d")
    assert storage.kind == kind
    assert [fact.name for fact in storage.chain] == ["path", "mount", "device", "transport"]
    assert storage.chain[-1].source.startswith("/sys/")
    assert bool(storage.reason) == (kind in ("unknown", "local-unknown"))


def test_secrets_among_the_mount_options_are_not_shown(tree):
    tree.mounts("41 20 0:52 / /d rw - ceph mon1:6789:/ rw,name=admin,secret=AQDhunter2")
    assert "hunter2" not in repr(tree.env().storage("/d"))


def nvme_over(tree, transport: str) -> None:
    """Native multipath: one node below the subsystem, several controllers."""
    tree.block("259:1", "virtual/nvme-subsystem/nvme-subsys1/nvme1n1", queue__rotational="0")
    for number in (1, 2):
        ctl = f"/sys/devices/virtual/nvme-fabrics/ctl/nvme{number}"
        tree.file(f"{ctl}/transport", transport)
        tree.file(f"{ctl}/model", "Dorado")
        tree.link(f"/sys/class/nvme-subsystem/nvme-subsys1/nvme{number}", ctl)
    tree.link(
        "/sys/class/nvme-subsystem/nvme-subsys1/nvme1n1", "/sys/devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1"
    )
    return "virtual/nvme-subsystem/nvme-subsys1/nvme1n1"


@pytest.mark.parametrize(
    ("transport", "kind"),
    [("tcp", "remote-block"), ("rdma", "remote-block"), ("fc", "remote-block"), ("pcie", "local-ssd")],
)
def test_nvme_with_native_multipath(tree, transport, kind):
    nvme_over(tree, transport)
    tree.mounts("41 20 259:1 / /d rw - xfs /dev/nvme1n1 rw")
    storage = tree.env().storage("/d")
    assert storage.kind == kind
    assert storage.chain[-1].source == "/sys/class/nvme/nvme1/transport"


def sata(tree, number: str, host: int, rotational: str, letter: str) -> str:
    folder = f"pci0000:00/0000:00:17.0/ata{host}/host{host}/target{host}:0:0/{host}:0:0:0/block/sd{letter}"
    tree.block(number, folder, queue__rotational=rotational, device__model="MODEL")
    return folder


def lvm_on_md(tree, *leaves: str) -> None:
    """/d on an LVM volume on an md RAID of ``leaves``."""
    tree.block("9:0", "virtual/block/md0", leaves, md__level="raid5")
    tree.block("253:3", "virtual/block/dm-3", ("virtual/block/md0",), dm__name="vg-data", dm__uuid="LVM-abc")
    tree.mounts("41 20 253:3 / /d rw - xfs /dev/mapper/vg-data rw")


def test_lvm_on_md_shows_every_step(tree):
    lvm_on_md(tree, sata(tree, "8:16", 1, "0", "b"), sata(tree, "8:32", 2, "0", "c"))
    storage = tree.env().storage("/d")
    assert storage.kind == "local-ssd"
    texts = [str(fact.value) for fact in storage.chain]
    assert any("dm-3 (device-mapper LVM vg-data over md0)" in text for text in texts)
    assert any("md0 (md raid5 over sdb, sdc)" in text for text in texts)
    assert [disk.name for disk in storage.disks] == ["sdb", "sdc"]


def test_a_stack_is_as_far_away_as_its_farthest_member(tree):
    lvm_on_md(tree, sata(tree, "8:16", 1, "0", "b"), sata(tree, "8:32", 2, "1", "c"))
    assert tree.env().storage("/d").kind == "local-hdd"


def test_an_iscsi_member_below_lvm_and_md_is_found(tree):
    remote = "platform/host11/session4/target11:0:0/11:0:0:1/block/sdx"
    tree.block("65:112", remote, queue__rotational="0")
    lvm_on_md(tree, sata(tree, "8:16", 1, "0", "b"), remote)
    assert tree.env().storage("/d").kind == "remote-block"


def test_multipath_over_fc_and_an_nvme_partition(tree):
    paths = [
        f"pci0000:00/0000:00:0{n}.0/host{n}/rport-{n}:0-1/target{n}:0:0/{n}:0:0:1/block/sd{'fg'[n - 1]}" for n in (1, 2)
    ]
    for number, folder in zip(("8:80", "8:96"), paths, strict=True):
        tree.block(number, folder, queue__rotational="0")
    tree.block("253:0", "virtual/block/dm-0", tuple(paths), dm__name="mpatha", dm__uuid="mpath-3600")
    tree.block("253:1", "virtual/block/dm-1", ("virtual/block/dm-0",), dm__name="mpatha1", dm__uuid="part1-mpath-3600")
    tree.mounts("41 20 253:1 / /d rw - ext4 /dev/mapper/mpatha1 rw")
    storage = tree.env().storage("/d")
    assert storage.kind == "remote-block"
    assert any("device-mapper part1" in str(fact.value) for fact in storage.chain)


def test_a_loop_image_on_a_network_file_system_only_looks_local(tree):
    tree.mounts("41 20 0:52 / /mnt/nas rw - nfs4 nas:/vol rw", "42 20 7:3 / /d rw - ext4 /dev/loop3 rw")
    tree.block("7:3", "virtual/block/loop3", loop__backing_file="/mnt/nas/images/coco.img", queue__rotational="0")
    storage = tree.env().storage("/d")
    assert storage.kind == "shared"
    assert any("mnt/nas (nfs4 from nas:/vol)" in str(fact.value) for fact in storage.chain)


def test_images_upon_one_another_end_somewhere(tree):
    tree.mounts("42 20 7:3 / /d rw - ext4 /dev/loop3 rw")
    tree.block("7:3", "virtual/block/loop3", loop__backing_file="/d/self.img")
    storage = tree.env().storage("/d")
    assert storage.kind == "unknown"
    assert "upon one another" in storage.reason


def test_btrfs_counts_all_its_devices(tree):
    sata(tree, "8:16", 1, "0", "b")
    sata(tree, "8:32", 2, "1", "c")
    for letter in "bc":
        tree.file(f"/sys/fs/btrfs/5f0c/devices/sd{letter}", "")
    tree.mounts("41 20 0:44 /@data /d rw - btrfs /dev/sdb rw,ssd,subvolid=256,subvol=/@data")
    assert tree.env().storage("/d").kind == "local-hdd"


def test_a_device_that_sysfs_does_not_show_is_unknown(tree):
    tree.mounts("41 20 8:99 / /d rw - ext4 /dev/sdz rw")
    storage = tree.env().storage("/d")
    assert storage.kind == "unknown"
    assert "/sys/dev/block/8:99" in storage.reason
