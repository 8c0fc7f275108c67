"""mountinfo: which mount holds a path."""

from __future__ import annotations

import pytest

from pytest_ascendenv.probes import mounts
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

TABLE = [
    "20 1 8:2 / / rw - ext4 /dev/sda2 rw",
    "21 20 8:3 / /data rw - xfs /dev/sda3 rw",
    "22 20 0:50 / /data/coco rw - nfs4 filer:/coco rw",
    "23 20 0:51 / /data/co rw shared:1 master:2 - tmpfs x rw",
    "24 20 0:52 / /dev/shm rw - tmpfs first rw",
    "25 24 0:53 / /dev/shm rw - tmpfs second rw",
]


def table(*lines: str) -> tuple[mounts.Mount, ...]:
    return tuple(mount for number, line in enumerate(lines, 1) if (mount := mounts.parse(line, number)))


@pytest.mark.parametrize(
    ("path", "point"),
    [
        ("/", "/"),
        ("/etc", "/"),
        ("/data", "/data"),
        ("/data/x", "/data"),
        ("/data/coco", "/data/coco"),
        ("/data/coco2", "/data"),
        ("/data/coc", "/data"),
        ("/database", "/"),
    ],
)
def test_the_longest_mount_point_at_a_slash_holds_a_path(path, point):
    assert mounts.by_path(table(*TABLE), path).mount_point == point


def test_of_equal_mount_points_the_last_one_covers():
    assert mounts.by_path(table(*TABLE), "/dev/shm/x").source == "second"


def test_a_mount_is_found_by_its_id():
    assert mounts.by_id(table(*TABLE), 24).source == "first"
    assert mounts.by_id(table(*TABLE), 99) is None


def test_the_kernels_escapes_are_undone():
    mount = mounts.parse(r"30 1 8:3 /a\040b /mnt/x\011y\134z rw,ro shared:1 - ext4 /dev/disk\040one rw,errors=panic")
    assert (mount.root, mount.mount_point, mount.source) == ("/a b", "/mnt/x\ty\\z", "/dev/disk one")
    assert mount.read_only


def test_options_of_the_super_block():
    mount = mounts.parse(r"30 1 0:3 / /m rw - overlay overlay rw,lowerdir+=/a,lowerdir+=/b\054c,upperdir=/u,index=off")
    assert mount.options_named("lowerdir+") == ("/a", "/b,c")
    assert mount.option("upperdir") == "/u"
    assert mount.option("absent") is None
    assert mount.anonymous


def test_lines_that_are_no_mounts_are_passed_over(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("\n".join(["", "garbage", TABLE[0], "x y z - a b"]))
    assert [mount.line for mount in mounts.read(Host(tmp_path, {}))] == [3]
    (tmp_path / "proc/self/mountinfo").write_text("")
    with pytest.raises(Unknown, match="no mount is listed"):
        mounts.read(Host(tmp_path, {}))


def test_a_table_without_a_root_cannot_tell():
    with pytest.raises(Unknown, match="no mount holds /etc"):
        mounts.by_path(table(TABLE[1]), "/etc")


def test_this_machine():
    found = mounts.read(Host())
    assert mounts.by_path(found, "/proc/self").filesystem == "proc"
