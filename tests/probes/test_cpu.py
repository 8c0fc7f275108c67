"""The cores this process may use, on fake hosts and on this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import make_host, write

from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import cpulist
from pytest_ascendenv.probes.cpu import Cpu, throttled
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown


def test_this_host_agrees_with_the_kernel() -> None:
    cpu = AscendEnv().cpu
    assert set(cpu.mask) == os.sched_getaffinity(0)
    assert len(cpu.online) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert 1 <= cpu.usable <= len(cpu.mask)


def test_a_narrower_mask_is_seen(tmp_path: Path) -> None:
    code = "from pytest_ascendenv import AscendEnv; cpu = AscendEnv().cpu; print(cpu.mask, cpu.usable)"
    first = min(os.sched_getaffinity(0))
    argv = ["taskset", "-c", str(first), sys.executable, "-c", code]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"({first},) 1"


@pytest.mark.parametrize("version", [1, 2])
def test_mask_cpuset_and_quota_together(tmp_path: Path, version: int) -> None:
    cpu = Cpu(make_host(tmp_path, mask="0-15", cpuset="8-23", quota=2.5, cgroup=version))
    assert (len(cpu.online), len(cpu.mask), cpu.cpuset) == (192, 16, tuple(range(8, 24)))
    assert cpu.allowed == tuple(range(8, 16))
    assert (cpu.quota, cpu.usable) == (2.5, 2)


@pytest.mark.parametrize(("quota", "usable"), [(None, 192), (0.5, 1), (1.0, 1), (3.0, 3), (500.0, 192)])
def test_a_quota_counts_whole_cores_and_at_least_one(tmp_path: Path, quota: float | None, usable: int) -> None:
    assert Cpu(make_host(tmp_path, quota=quota)).usable == usable


def test_the_least_quota_of_the_parents_counts(tmp_path: Path) -> None:
    host = make_host(tmp_path, quota=8, cgroup=2, group="/pod/job")
    write(tmp_path, "/sys/fs/cgroup/pod/cpu.max", "400000 100000\n")
    cpu = Cpu(host)
    assert cpu.quota == 4.0
    assert "/sys/fs/cgroup/pod/cpu.max" in str(cpu.facts()[-1])


def test_inside_a_container_the_mount_shows_only_its_part(tmp_path: Path) -> None:
    """Without a cgroup namespace /proc/self/cgroup has the host's path, and the mount begins at the container."""
    host = make_host(tmp_path)
    write(tmp_path, "/proc/self/cgroup", "4:cpuset:/docker/abc\n3:cpu:/docker/abc/inner\n")
    write(
        tmp_path,
        "/proc/self/mountinfo",
        "40 39 0:31 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
        "41 39 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
    )
    write(tmp_path, "/sys/fs/cgroup/cpuset/cpuset.cpus", "4-7\n")
    write(tmp_path, "/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "150000\n")
    write(tmp_path, "/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n")
    cpu = Cpu(host)
    assert cpu.cpuset == (4, 5, 6, 7)
    assert cpu.quota == 1.5


def test_a_host_without_cgroups_has_no_limits(tmp_path: Path) -> None:
    host = make_host(tmp_path, online="0-3")
    (tmp_path / "proc/self/cgroup").unlink()
    cpu = Cpu(host)
    assert cpu.allowed == (0, 1, 2, 3)
    assert [fact.status for fact in cpu.facts()] == ["known", "known", "unknown", "unknown"]
    with pytest.raises(Unknown, match="CPU quota"):
        cpu.usable  # noqa: B018


def test_what_cannot_be_read_is_unknown_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="/sys/devices/system/cpu/online"):
        Cpu(Host(tmp_path, {})).online  # noqa: B018


def test_throttling_is_counted(tmp_path: Path) -> None:
    assert throttled(make_host(tmp_path / "v1")) == 3
    assert throttled(make_host(tmp_path / "v2", cgroup=2)) == 3


@pytest.mark.parametrize("text", ["0-3,8", "5", "", "0,2,4"])
def test_core_lists_survive_a_round_trip(text: str) -> None:
    assert cpulist.show(cpulist.parse(text)) == text


@pytest.mark.parametrize("text", ["3-1", "a", "0-", "-1", "1 2", "0x1"])
def test_bad_core_lists_are_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"core|range"):
        cpulist.parse(text)
