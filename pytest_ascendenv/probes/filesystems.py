"""File system types, sorted by where their data lies.

Known by type first: the source column says little (OceanStor's dpc mounts as "/llmdir", virtiofs as a tag). Sources:
the kernel's Documentation/filesystems, coreutils' stat.c and gnulib's mountlist.h, and each vendor's mount documents.
"""

from __future__ import annotations

from typing import Literal

Family = Literal["block", "memory", "shared", "object", "overlay", "mirror", "layered", "unknown"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCK = _words(
    "ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs jfs reiserfs nilfs2 vfat exfat msdos ntfs ntfs3 hfs hfsplus udf "
    "iso9660 erofs squashfs minix fuseblk"
)
MEMORY = _words("tmpfs ramfs hugetlbfs devtmpfs rootfs")
SHARED = _words(
    "nfs nfs4 lustre gpfs mmfs ceph cifs smb3 smb2 smbfs beegfs beegfs_nodev fhgfs dpc wekafs panfs ocfs2 gfs gfs2 afs "
    "auristorfs kafs coda orangefs pvfs2 glusterfs quobyte yrfs acfs vxfs ibrix snfs stfs cpfs "
    "alifuse.aliyun-alinas-efc parastor cubefs moosefs mfs ncp ncpfs"
)
HYPERVISOR = _words("9p v9fs virtiofs vboxsf prl_fs vmhgfs fuse.vmhgfs-fuse drvfs")
"""A share of the machine below: not a network by type, nor provably its disk, so it counts as shared."""

FUSE_SHARED = _words(
    "glusterfs sshfs ceph ceph-fuse cvmfs2 mfs moosefs lizardfs saunafs quobyte seaweedfs cubefs cfs-client curve "
    "hadoop-fuse-dfs fuse_dfs beegfs nfs nfs-ganesha smbnetfs gvfsd-fuse"
)
FUSE_OBJECT = _words(
    "obsfs s3fs cosfs ossfs ossfs2 bosfs goofys geesefs gcsfuse blobfuse blobfuse2 rclone juicefs alluxio alluxio-fuse "
    "mount-s3 mountpoint-s3 tosfs hdfs curlftpfs davfs davfs2 swiftfs yas3fs s3ql s3backer catfs obsfuse"
)
FUSE_MIRROR = frozenset(["bindfs"])
FUSE_LAYERED = _words("fuse-overlayfs unionfs unionfs-fuse overlayfs")
LAYERED = _words("aufs shiftfs unionfs")
MIRROR = _words("ecryptfs")


def family(filesystem: str, source: str) -> Family:
    """Where the data of such a mount lies.

    "block" is a local file system on some device, "mirror" shows the directory in its source, "layered" is made of
    directories that the mount does not name. An unknown FUSE file system is never taken for local.
    """
    if filesystem == "fuse" or filesystem.startswith("fuse."):
        return _fuse(filesystem.partition(".")[2], source)
    return _kernel(filesystem, source)


def _kernel(filesystem: str, source: str) -> Family:
    sets: tuple[tuple[frozenset[str], Family], ...] = (
        (SHARED | HYPERVISOR, "shared"),
        (BLOCK, "block"),
        (MEMORY, "memory"),
        (frozenset(["overlay", "overlayfs"]), "overlay"),
        (LAYERED, "layered"),
        (MIRROR, "mirror"),
    )
    return next((name for types, name in sets if filesystem in types), _by_source(source))


def _fuse(name: str, source: str) -> Family:
    sets: tuple[tuple[frozenset[str], Family], ...] = (
        (FUSE_OBJECT, "object"),
        (FUSE_SHARED | frozenset(["vmhgfs-fuse"]), "shared"),
        (FUSE_MIRROR, "mirror"),
        (FUSE_LAYERED, "layered"),
    )
    found = next((family for names, family in sets if name in names), None)
    if found is None and (source.partition(":")[0].lower() in FUSE_OBJECT):
        return "object"  # "fuse" or "fuse.x" whose source names the client, such as JuiceFS:volume
    if found is None and not name and source.startswith("/"):
        return "mirror"  # bindfs of older releases: plain "fuse", the source is the directory; to be proved
    return found or _by_source(source)


def _by_source(source: str) -> Family:
    """gnulib's rule as a net below unknown types: host:path and //host/share come over a network."""
    return "shared" if ":/" in source or source.startswith("//") else "unknown"
