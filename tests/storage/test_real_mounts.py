"""Real mounts: what the kernel shows is followed to the disk it is on, and no further than can be proved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.devices import worst

HANGING = Path(__file__).with_name("hanging_fuse.py")


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


needs_fuse = pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="/dev/fuse is not there, or not ours")


def has_loop() -> bool:
    return (
        subprocess.run(["losetup", "--find"], capture_output=True).returncode == 0 if shutil.which("losetup") else False
    )


needs_loop = pytest.mark.skipif(not has_loop(), reason="there is no free loop device")


def test_a_tmpfs_and_what_is_bound_from_it(mounts):
    setup = "mkdir -p ram bound; mount -t tmpfs x ram; mkdir ram/sub; mount --bind ram/sub bound"
    seen = mounts.kinds(setup, "ram/data", "bound/data")
    assert seen["ram/data"]["kind"] == "ram"
    assert seen["bound/data"]["kind"] == "ram"
    assert ("mount", f"{mounts.work}/bound (tmpfs from x, subtree /sub)") in map(tuple, seen["bound/data"]["chain"])


def test_a_bind_of_the_disk_is_on_the_disk(mounts, here):
    assert mounts.kinds("mkdir -p a b; mount --bind a b", "b")["b"]["kind"] == here


def test_the_upper_of_two_mounts_upon_one_another_counts(mounts, here):
    covered = "mkdir -p d c; mount -t tmpfs x d; mount --bind c d"
    assert mounts.kinds(covered, "d")["d"]["kind"] == here
    assert mounts.kinds("mkdir -p d c; mount --bind c d; mount -t tmpfs x d", "d")["d"]["kind"] == "ram"


def test_a_mount_point_with_a_blank(mounts):
    assert mounts.kinds('mkdir -p "a b"; mount -t tmpfs x "a b"', "a b/c")["a b/c"]["kind"] == "ram"


OVERLAY = "mkdir -p low up work all; mount -t overlay x -o lowerdir={0}/low,upperdir={0}/up,workdir={0}/work all"


def test_an_overlay_is_where_its_layers_are(mounts, here):
    seen = mounts.kinds(OVERLAY.format(mounts.work), "all")["all"]
    assert seen["kind"] == here
    paths = [value for name, value in seen["chain"] if name == "path"]
    assert paths == [f"{mounts.work}/{name}" for name in ("all", "up", "low")]


def test_an_overlay_is_as_far_away_as_its_farthest_layer(mounts, here):
    setup = "mkdir -p ram; mount -t tmpfs x ram; mkdir ram/low; mkdir -p up work all;"
    setup += (
        f"mount -t overlay x -o lowerdir={mounts.work}/ram/low,upperdir={mounts.work}/up,workdir={mounts.work}/work all"
    )
    assert mounts.kinds(setup, "all")["all"]["kind"] == worst([here, "ram"])


def test_an_overlay_whose_layers_are_hidden_is_a_container_layer(mounts):
    """As in a container: the layers belong to the host, and a folder of the same name may be another."""
    hidden = OVERLAY.format(mounts.work) + "; touch -d 2001-01-01 all; mount -t tmpfs x up"
    seen = mounts.kinds(hidden, "all")["all"]
    assert seen["kind"] == "container-layer"
    assert "is not the layer that the overlay shows" in seen["reason"]
    gone = OVERLAY.format(mounts.work) + "; mount -t tmpfs x " + str(mounts.work / "low") + "; rmdir up || mv up gone"
    assert mounts.kinds(gone, "all")["all"]["kind"] == "container-layer"


def test_an_overlay_with_relative_layers_is_a_container_layer(mounts):
    setup = "mkdir -p low up work all; mount -t overlay x -o lowerdir=low,upperdir=up,workdir=work all"
    seen = mounts.kinds(setup, "all")["all"]
    assert seen["kind"] == "container-layer"
    assert "absolute" in seen["reason"]


@needs("mkfs.ext4")
@needs_loop
def test_a_loop_image_is_where_its_file_is(mounts, here):
    image = "truncate -s 64M {0}/image; mkfs.ext4 -q -F {0}/image; mkdir disk; mount -o loop {0}/image disk"
    seen = mounts.kinds(image.format("."), "disk")["disk"]
    assert seen["filesystem"] == "ext4"
    assert seen["kind"] == here
    assert any(name == "device" and f"over {mounts.work}/image" in value for name, value in seen["chain"])
    in_memory = "mkdir -p ram; mount -t tmpfs x ram; " + image.format("ram").replace("mkdir disk", "mkdir -p disk")
    assert mounts.kinds(in_memory, "disk")["disk"]["kind"] == "ram"


@needs("bindfs")
@needs_fuse
def test_bindfs_is_where_its_directory_is(mounts, here):
    seen = mounts.kinds("mkdir -p src fuse; bindfs src fuse", "fuse")["fuse"]
    assert seen["filesystem"].startswith("fuse")
    assert seen["kind"] == here


@needs("bindfs")
@needs_fuse
def test_a_fuse_whose_source_is_not_what_it_shows_is_not_believed(mounts):
    """As in a container that a FUSE of its host is mounted into: the folder named is another one here."""
    container = 'mount -t tmpfs x src; exec "$PYTHON" "$PROGRAM"'
    setup = f"mkdir -p src fuse; bindfs src fuse; exec unshare --mount bash -c '{container}'"
    seen = mounts.kinds(setup, "fuse")["fuse"]
    assert seen["kind"] == "unknown"
    assert "does not show what is in its source" in seen["reason"]


@pytest.fixture
def dead_mount(tmp_path):
    """A mount that never answers, in this process's own namespace; it ends with the process that serves it."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("a FUSE mount needs root and /dev/fuse")
    path = tmp_path / "dead"
    path.mkdir()
    server = subprocess.Popen(
        [sys.executable, str(HANGING), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if server.stdout.readline().strip() != "mounted":
        pytest.skip(f"no FUSE mount can be made here: {server.communicate()[1]}")
    yield path
    server.kill()
    server.communicate()
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_dead_mount_is_named_and_the_rest_of_the_gate_goes_on(dead_mount, pytester):
    """The last test of this file would hang for ever if anything but a child touched the mount."""
    result = pytester.runpytest_subprocess(
        "--ascend-env",
        "--ascend-env-require",
        f"local_storage={dead_mount}/coco",
        "--ascend-env-require",
        "shared_memory",
        "-Werror",
        timeout=60,
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*stat of {dead_mount}/coco did not return in 5 s*"])


def test_an_unknown_fuse_is_not_local(dead_mount):
    """The mount table alone says so much, whatever is below it."""
    from pytest_ascendenv.probes.filesystems import family

    line = next(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(dead_mount) in line)
    assert family("fuse.hanging", line.partition(" - ")[2].split()[1]) == "shared"  # deadserver:/export


def test_this_machine_can_tell_where_the_tests_are(tmp_path):
    seen = AscendEnv().storage(str(tmp_path))
    assert seen.kind in ("local-ssd", "local-hdd", "local-unknown", "ram", "container-layer", "shared", "unknown")
    assert seen.chain[1].source.startswith("/proc/self/mountinfo:")
