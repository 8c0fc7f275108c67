"""disk_space and local_cache: room, and where frameworks keep what they need at hand."""

from __future__ import annotations

import pytest

from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

SATA = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
HOME = "40 20 0:52 / /home rw - nfs filer:/home rw"


def judge(name: str, env: AscendEnv, *args: object, **kwargs: object) -> Finding:
    check = load(name)
    return check.judge(check.parse(*args, **kwargs), env)


def test_room_on_this_host(tmp_path):
    finding = judge("disk_space", AscendEnv(), tmp_path, free="1 B", inodes=1)
    assert finding.verdict is Verdict.PASS
    assert "free of" in finding.evidence[0].value


def test_too_little_room_fails(tmp_path):
    finding = judge("disk_space", AscendEnv(), tmp_path, free="900000 TB")
    assert finding.verdict is Verdict.FAIL
    assert "free of" in finding.found
    assert "df -h" in finding.fix
    few = judge("disk_space", AscendEnv(), "/dev/shm", inodes=10**15)
    assert few.verdict is Verdict.FAIL
    assert "inodes free of" in few.found


def test_a_nearly_full_disk_is_noted_and_a_full_one_fails(mounts):
    program = f"""
        import json
        from pytest_ascendenv.checks import load
        from pytest_ascendenv.environment import AscendEnv
        check, env = load("disk_space"), AscendEnv()
        def judge():
            found = check.judge(check.parse("{mounts.work}/room"), env)
            return [found.verdict.value, *found.notes]
        with open("{mounts.work}/room/filler", "wb", buffering=0) as filler:
            filler.write(bytes(900 << 10))
            nearly = judge()
            filler.write(bytes(124 << 10))
            print(json.dumps([nearly, judge()[0]]))
        """
    nearly, full = mounts.run("mkdir room; mount -t tmpfs -o size=1m x room", program)
    assert nearly == ["pass", f"{mounts.work}/room is 88% full"]
    assert full == "fail"


def test_arguments_that_cannot_be_meant():
    parse = load("disk_space").parse
    with pytest.raises(ValueError, match="free must be a text such as"):
        parse(free=100)
    with pytest.raises(ValueError, match="inodes must be a whole number"):
        parse(inodes="many")


@pytest.fixture
def cluster(tree):
    """A node whose /home is on NFS and whose / is a local SSD."""
    tree.mounts(HOME)
    tree.block("8:0", SATA, queue__rotational="0", device__model="SSD")
    tree.block("8:2", f"{SATA}/sda2", partition="2")

    def env(declared: Declared | None = None, **environ: str) -> AscendEnv:
        return AscendEnv(Host(tree.root, {"HOME": "/home/user", **environ}), declared or Declared())

    return env


def test_default_caches_on_a_network_home_are_a_warning(cluster):
    finding = judge("local_cache", cluster())
    assert finding.verdict is Verdict.FAIL
    assert finding.severity == "warning"
    assert "~/.cache/huggingface is on shared (nfs at /home)" in finding.found
    assert "~/atc_data is on shared" in finding.found
    assert "set HF_HOME to a local folder; set ASCEND_CACHE_PATH to a local folder" in finding.fix


def test_caches_that_were_moved_to_a_local_disk_pass(cluster):
    finding = judge("local_cache", cluster(HF_HOME="/scratch/hf", ASCEND_CACHE_PATH="/scratch/ascend"))
    assert finding.verdict is Verdict.PASS
    named = {fact.source: fact.value for fact in finding.evidence if fact.name == "cache directory"}
    assert named == {"HF_HOME": "/scratch/hf", "ASCEND_CACHE_PATH": "/scratch/ascend"}


def test_mindspores_compile_cache_counts_where_it_is_on(cluster):
    moved = {"HF_HOME": "/scratch/hf", "ASCEND_CACHE_PATH": "/scratch/a", "MS_COMPILER_CACHE_PATH": "/home/user/ms"}
    assert judge("local_cache", cluster(**moved)).verdict is Verdict.PASS
    finding = judge("local_cache", cluster(**moved, MS_COMPILER_CACHE_ENABLE="1"))
    assert finding.verdict is Verdict.FAIL
    assert finding.fix == "set MS_COMPILER_CACHE_PATH to a local folder"


def test_a_declared_cache_weighs_as_an_error(cluster):
    moved = {"HF_HOME": "/scratch/hf", "ASCEND_CACHE_PATH": "/scratch/a"}
    finding = judge("local_cache", cluster(Declared(cache=["/home/user/cache"]), **moved))
    assert (finding.verdict, finding.severity) == (Verdict.FAIL, "error")
    assert judge("local_cache", cluster(), "/home/x").severity == "error"
    assert judge("local_cache", cluster(), "/scratch").verdict is Verdict.PASS


def test_no_home_and_nothing_named_could_not_be_told(tree):
    with pytest.raises(Unknown, match="HOME is not set"):
        judge("local_cache", tree.env())


def test_a_cache_that_is_not_there_yet_is_judged_where_it_will_be(tmp_path):
    finding = judge("local_cache", AscendEnv(), tmp_path / "not" / "yet")
    assert finding.verdict is Verdict.PASS


def test_a_cache_on_a_read_only_or_full_file_system_fails(mounts):
    program = f"""
        import json
        from pytest_ascendenv.checks import load
        from pytest_ascendenv.environment import AscendEnv
        check, env = load("local_cache"), AscendEnv()
        open("{mounts.work}/full/filler", "wb").write(bytes(1 << 20))
        print(json.dumps([check.judge(check.parse("{mounts.work}/" + n), env).found for n in ("fixed", "full")]))
        """
    setup = "mkdir fixed full; mount -t tmpfs -o ro x fixed; mount -t tmpfs -o size=1m x full"
    fixed, full = mounts.run(setup, program)
    assert "mounted read-only" in fixed
    assert "0 B free" in full
