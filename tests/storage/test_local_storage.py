"""local_storage as a user sees it: what passes, what fails, what could not be told, and what is advised."""

from __future__ import annotations

import os

import pytest

from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

SATA = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
NFS = "40 20 0:52 / /data rw,relatime shared:9 - nfs4 filer:/export/data rw,vers=4.2,hard,proto=tcp"
TMPFS = "41 20 0:53 / /fast rw - tmpfs tmpfs rw,size=1048576k"
DOCKER = (
    "42 20 0:54 / /layer rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B,"
    "upperdir=/var/lib/docker/overlay2/c/diff,workdir=/var/lib/docker/overlay2/c/work"
)


def judge(env: AscendEnv, *args: object, **kwargs: object) -> Finding:
    check = load("local_storage")
    return check.judge(check.parse(*args, **kwargs), env)


@pytest.fixture
def env(tree):
    tree.mounts(NFS, TMPFS, DOCKER)
    tree.block("8:0", SATA, queue__rotational="0", device__vendor="ATA", device__model="INTEL SSDSC2KB96")
    tree.block("8:2", f"{SATA}/sda2", partition="2")
    return tree.env()


def test_a_local_ssd_passes_without_a_warning(env):
    finding = judge(env, "/home/coco")
    assert finding.verdict is Verdict.PASS
    assert "/home/coco is on local-ssd" in finding.found
    assert finding.notes == ()


def test_the_evidence_is_the_chain_from_the_path_to_the_wire(env):
    steps = {fact.name: fact for fact in judge(env, "/home/coco").evidence}
    assert list(steps) == ["path", "mount", "device", "transport"]
    assert steps["mount"].source == "/proc/self/mountinfo:1"
    assert steps["transport"].value.startswith("sda: SATA")
    assert "0:0:0:0/block/sda" in steps["transport"].source


def test_a_network_mount_fails_and_says_where_to_copy(env):
    finding = judge(env, "/data/coco")
    assert finding.verdict is Verdict.FAIL
    assert "/data/coco is on shared (nfs4 filer:/export/data at /data)" in finding.found
    assert "copy /data/coco" in finding.fix
    assert "to a disk of this host (/ (local-ssd))" in finding.fix
    assert 'treat_as = { "/data" = "local-ssd" }' in finding.fix


def test_memory_is_no_disk(env):
    finding = judge(env, "/fast/coco")
    assert finding.verdict is Verdict.FAIL
    assert "in memory, not on a disk" in finding.cause
    assert 'treat_as = { "/fast" = "local-ssd" }' in finding.fix


def test_a_container_layer_could_not_be_told(env):
    with pytest.raises(Unknown, match=r"container-layer .*captured host"):
        judge(env, "/layer/coco")


def test_one_remote_path_fails_though_another_could_not_be_told(env):
    finding = judge(env, "/data", "/layer", "/home")
    assert finding.verdict is Verdict.FAIL
    assert "/home" not in finding.found
    assert any("/layer" in note for note in finding.notes)


def test_the_site_may_know_better_and_the_finding_says_so(tree, env):
    finding = judge(tree.env(treat_as={"/data": "local-ssd"}), "/data/coco")
    assert finding.verdict is Verdict.PASS
    assert "because the settings say so (treat_as, /data)" in finding.notes[0]
    assert finding.evidence[-1].value == "local-ssd"


def test_the_site_may_also_know_it_to_be_worse(tree, env):
    override = {"/home": "shared", "/home/coco/cache": "local-ssd"}
    assert judge(tree.env(treat_as=override), "/home/coco").verdict is Verdict.FAIL
    assert judge(tree.env(treat_as=override), "/home/coco/cache/x").verdict is Verdict.PASS
    assert judge(tree.env(treat_as=override), "/homework").verdict is Verdict.PASS


def test_paths_default_to_the_declared_data(tree, env):
    assert judge(tree.env(data=["/data"])).verdict is Verdict.FAIL
    assert judge(tree.env(data=["/data"]), "/home").verdict is Verdict.PASS
    with pytest.raises(Unknown, match="no path given"):
        judge(env)


def test_paths_as_the_settings_and_markers_give_them():
    parse = load("local_storage").parse
    assert parse("/a", "/b").paths == ("/a", "/b")
    assert parse(path="/a").paths == ("/a",)
    assert parse(path=["/a", "/b"]).paths == ("/a", "/b")
    with pytest.raises(TypeError, match="takes paths, not 3"):
        parse(3)
    with pytest.raises(ValueError, match="empty path"):
        parse("")


def test_a_missing_path_fails_with_its_nearest_parent(tmp_path):
    (tmp_path / "data").mkdir()
    finding = judge(AscendEnv(), tmp_path / "data" / "coc" / "train")
    assert finding.verdict is Verdict.FAIL
    assert f"{tmp_path}/data/coc/train does not exist" in finding.found
    assert f"nearest existing parent: {tmp_path}/data" in finding.found


def test_a_dangling_link_is_named_by_its_end(tmp_path):
    os.symlink("/nonexistent/disk/coco", tmp_path / "coco")
    finding = judge(AscendEnv(), tmp_path / "coco")
    assert finding.verdict is Verdict.FAIL
    assert "/nonexistent/disk/coco does not exist (nearest existing parent: /," in finding.found


def test_links_are_followed(tmp_path):
    os.symlink("/dev/shm", tmp_path / "data")
    storage = AscendEnv(declared=Declared()).storage(str(tmp_path / "data"))
    assert (storage.kind, storage.filesystem, storage.real) == ("ram", "tmpfs", "/dev/shm")
    assert storage.chain[0].value == f"{tmp_path}/data -> /dev/shm"
