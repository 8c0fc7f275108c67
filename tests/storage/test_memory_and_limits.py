"""The checks that need no argument: /dev/shm and the limit of open files."""

from __future__ import annotations

import pytest

from pytest_ascendenv.checks import load
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

SHM = "50 20 0:60 / /dev/shm rw,nosuid,nodev - tmpfs shm rw,size={}"
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             unlimited            unlimited            processes
Max open files            {}            {}              files"""


def judge(env: AscendEnv, name: str, *args: object, **kwargs: object) -> Finding:
    check = load(name)
    return check.judge(check.parse(*args, **kwargs), env)


@pytest.mark.parametrize("size", ["1048576k", "2g"])
def test_a_laptops_shared_memory_passes_with_a_note(tree, size):
    tree.mounts(SHM.format(size))
    finding = judge(tree.env(), "shared_memory")
    assert finding.verdict is Verdict.PASS
    assert "5 GB that MindSpore recommends" in finding.notes[0]


def test_dockers_default_fails_with_what_to_start_the_container_with(tree):
    tree.mounts(SHM.format("65536k"))
    finding = judge(tree.env(), "shared_memory")
    assert finding.verdict is Verdict.FAIL
    assert finding.found.startswith("tmpfs of 64 MiB")
    assert "Docker's default" in finding.cause
    assert "--shm-size=5g" in finding.fix


def test_a_larger_pool_needs_more_as_mindspore_counts_it(tree):
    tree.mounts(SHM.format("1048576k"))
    pool = {"workers": 4, "row": "10 MiB", "devices": 8}
    finding = judge(tree.env(), "shared_memory", **pool)
    assert finding.verdict is Verdict.FAIL
    # 8 devices x 4 workers x (16 + 2) x 10 MiB = 5760 MiB, in 80 % of what is free
    assert "7.03 GiB free" in finding.expected
    assert judge(tree.env(), "shared_memory", "900 MiB").verdict is Verdict.PASS


def test_shared_memory_on_a_disk_or_read_only_fails(tree):
    tree.mounts("50 20 0:60 / /dev/shm ro - tmpfs shm ro,size=8g")
    assert "not writable" in judge(tree.env(), "shared_memory").cause


def test_shared_memory_of_this_host():
    shm = AscendEnv().shared_memory
    assert shm.filesystem == "tmpfs"
    assert 0 <= shm.free <= shm.size


@pytest.mark.parametrize(
    ("wrong", "text"),
    [({"minimum": "8"}, '"64 MiB" or "5 GB"'), ({"workers": 0}, "workers must be a whole number"), ({"row": 6}, "row")],
)
def test_bad_shared_memory_arguments_say_what_is_allowed(wrong, text):
    with pytest.raises(ValueError, match=text):
        load("shared_memory").parse(**wrong)


def test_a_desktops_limit_of_open_files_passes_with_the_vendors_advice(tree):
    tree.file("/proc/self/limits", LIMITS.format(1024, 1048576))
    finding = judge(tree.env(), "open_files")
    assert finding.verdict is Verdict.PASS
    assert "65535" in finding.notes[0]


def test_a_limit_below_mindspores_pool_fails(tree):
    tree.file("/proc/self/limits", LIMITS.format(128, 1048576))
    finding = judge(tree.env(), "open_files")
    assert finding.verdict is Verdict.FAIL
    assert finding.fix == "ulimit -n 65535 in the launch script"


def test_a_declared_number_is_required_and_the_hard_limit_named(tree):
    tree.file("/proc/self/limits", LIMITS.format(1024, 4096))
    finding = judge(tree.env(), "open_files", 65535)
    assert finding.verdict is Verdict.FAIL
    assert "raise the hard limit" in finding.fix
    with pytest.raises(ValueError, match="whole number"):
        load("open_files").parse("many")


def test_limits_that_are_not_listed_are_unknown(tree):
    tree.file("/proc/self/limits", "Limit  Soft Limit  Hard Limit")
    with pytest.raises(Unknown, match="Max open files"):
        judge(tree.env(), "open_files")


def test_no_limit_at_all_is_no_failure(tree):
    tree.file("/proc/self/limits", LIMITS.format("unlimited", "unlimited"))
    assert judge(tree.env(), "open_files", 10**6).verdict is Verdict.PASS
