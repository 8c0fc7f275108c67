"""cpu_mask, cpu_quota, omp_binding, dead_variables: host checks that need no expected value."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import make_host, write

from pytest_ascendenv.checks import HOST_CHECKS, load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

NAMES = ("cpu_mask", "cpu_quota", "omp_binding", "dead_variables")


def judge(name: str, env: AscendEnv) -> Finding:
    check = load(name)
    return check.judge(check.parse(), env)


@pytest.mark.parametrize("name", NAMES)
def test_they_run_where_nothing_is_declared_and_pass_on_this_host(name: str) -> None:
    assert name in HOST_CHECKS
    assert judge(name, AscendEnv(Host(environ={"PATH": os.environ["PATH"]}))).verdict is Verdict.PASS


@pytest.mark.parametrize("name", NAMES)
def test_they_pass_on_a_training_host_that_is_well_set_up(tmp_path: Path, name: str) -> None:
    host = make_host(tmp_path, npus=8, environ={"CPU_AFFINITY_CONF": "1", "OMP_NUM_THREADS": "1"})
    declared = Declared(framework="torch_npu", torch_npu_release="7.3.0")
    assert judge(name, AscendEnv(host, declared)).verdict is Verdict.PASS


def test_a_binding_that_torch_npu_would_skip(tmp_path: Path) -> None:
    host = make_host(tmp_path, npus=8, mask="0-95", environ={"CPU_AFFINITY_CONF": "1"})
    finding = judge("cpu_mask", AscendEnv(host, Declared(torch_npu_release="7.3.0")))
    assert finding.verdict is Verdict.FAIL
    assert "core 96" in finding.cause
    assert "taskset" in finding.fix
    assert "CPU_AFFINITY_CONF='1'  void" in finding.detail


def test_a_narrow_mask_alone_is_no_broken_promise(tmp_path: Path) -> None:
    assert judge("cpu_mask", AscendEnv(make_host(tmp_path, mask="0-95"))).verdict is Verdict.PASS


def test_one_core_of_a_large_host(tmp_path: Path) -> None:
    finding = judge("cpu_mask", AscendEnv(make_host(tmp_path, mask="7", environ={"OMPI_COMM_WORLD_RANK": "0"})))
    assert finding.verdict is Verdict.FAIL
    assert "mpirun" in finding.fix


@pytest.mark.parametrize(
    ("listed", "mask", "verdict"),
    [
        ("[0, 1, 2, 3]", "0-3", Verdict.PASS),
        ("0-3", "0-3", Verdict.PASS),
        ("['0-3']", "0-191", Verdict.FAIL),
        ("rubbish", "0-191", Verdict.PASS),
    ],
)
def test_the_cores_that_msrun_promised(tmp_path: Path, listed: str, mask: str, verdict: Verdict) -> None:
    host = make_host(tmp_path, mask=mask, environ={"MSRUN_CPU_LIST": listed})
    assert judge("cpu_mask", AscendEnv(host)).verdict is verdict


@pytest.mark.parametrize(
    ("quota", "environ", "verdict", "fix"),
    [
        (None, {"OMP_NUM_THREADS": "500"}, Verdict.PASS, ""),
        (24.5, {"OMP_NUM_THREADS": "24"}, Verdict.PASS, ""),
        (24.0, {"OMP_NUM_THREADS": "48"}, Verdict.FAIL, "OMP_NUM_THREADS=24"),
        (24.0, {"OMP_NUM_THREADS": "8,4", "MKL_NUM_THREADS": "99"}, Verdict.FAIL, "MKL_NUM_THREADS=24"),
        (0.5, {"OMP_NUM_THREADS": "1"}, Verdict.PASS, ""),
        (192.0, {}, Verdict.PASS, ""),
    ],
)
def test_quota_against_threads(
    tmp_path: Path, quota: float | None, environ: dict[str, str], verdict: Verdict, fix: str
) -> None:
    finding = judge("cpu_quota", AscendEnv(make_host(tmp_path, quota=quota, environ=environ)))
    assert finding.verdict is verdict
    assert fix in finding.fix


def test_quota_that_no_variable_speaks_of_is_only_noted(tmp_path: Path) -> None:
    finding = judge("cpu_quota", AscendEnv(make_host(tmp_path, quota=24.0)))
    assert finding.verdict is Verdict.PASS
    assert "OMP_NUM_THREADS=24" in finding.notes[0]


BINDS = [
    ({"OMP_PROC_BIND": "true"}, True),
    ({"OMP_PROC_BIND": "CLOSE"}, True),
    ({"OMP_PROC_BIND": "spread,close"}, True),
    ({"OMP_PLACES": "cores"}, True),
    ({"GOMP_CPU_AFFINITY": "0-1"}, True),
    ({"OMP_PROC_BIND": "false", "GOMP_CPU_AFFINITY": "0"}, False),
    ({"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"}, False),
    ({"OMP_PROC_BIND": "1"}, False),
    ({"GOMP_CPU_AFFINITY": ""}, False),
    ({}, False),
]


@pytest.mark.parametrize(("environ", "binds"), BINDS)
def test_openmp_binding(tmp_path: Path, environ: dict[str, str], binds: bool) -> None:
    finding = judge("omp_binding", AscendEnv(make_host(tmp_path, environ=environ)))
    assert finding.verdict is (Verdict.FAIL if binds else Verdict.PASS)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a lost core shows only where there are two")
@pytest.mark.skipif(ctypes.util.find_library("gomp") is None, reason="libgomp is not installed")
@pytest.mark.parametrize(("environ", "binds"), BINDS)
def test_libgomp_itself_agrees(environ: dict[str, str], binds: bool) -> None:
    code = "import ctypes, os; ctypes.CDLL('libgomp.so.1'); print(len(os.sched_getaffinity(0)))"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
    argv = [sys.executable, "-c", code]
    out = subprocess.run(argv, env={**clean, **environ}, capture_output=True, text=True, check=True).stdout
    assert (int(out) == 1) is binds


@pytest.mark.parametrize(
    ("value", "binds"), [("granularity=fine,compact,1,0", True), ("none", False), ("disabled", False)]
)
def test_llvm_openmp_binding(tmp_path: Path, value: str, binds: bool) -> None:
    finding = judge("omp_binding", AscendEnv(make_host(tmp_path, environ={"KMP_AFFINITY": value})))
    assert finding.verdict is (Verdict.FAIL if binds else Verdict.PASS)


def test_openmp_against_torch_npu(tmp_path: Path) -> None:
    host = make_host(tmp_path, npus=8, environ={"OMP_PROC_BIND": "true", "CPU_AFFINITY_CONF": "2"})
    finding = judge("omp_binding", AscendEnv(host, Declared(torch_npu_release="7.3.0")))
    assert "against CPU_AFFINITY_CONF='2'" in finding.cause


def test_a_variable_that_mindspore_never_reads(tmp_path: Path) -> None:
    host = make_host(tmp_path, environ={"CPU_AFFINITY_CONF": "1", "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"})
    write(tmp_path, "/sys/fs/cgroup/cpuset/cpuset.cpus", "0-191\n")
    finding = judge("dead_variables", AscendEnv(host, Declared(framework="mindspore")))
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "CPU_AFFINITY_CONF, PYTORCH_NPU_ALLOC_CONF"
    assert "mindspore.runtime.set_cpu_affinity" in finding.fix
    assert "MS_ALLOC_CONF" in finding.fix


def test_on_cgroup_v2_the_way_out_is_not_set_cpu_affinity(tmp_path: Path) -> None:
    """MindSpore's binders read the cpuset file of cgroup v1 alone, so a call would bind nothing."""
    host = make_host(tmp_path, cgroup=2, cpuset="0-23", environ={"CPU_AFFINITY_CONF": "1"})
    env = AscendEnv(host, Declared(framework="mindspore"))
    fix = judge("dead_variables", env).fix
    assert "taskset or numactl" in fix
    assert "set_cpu_affinity" not in fix
    assert any(one.name == "set_cpu_affinity" and one.state == "void" for one in env.binders.all())


def test_torch_npu_reads_its_variables(tmp_path: Path) -> None:
    env = AscendEnv(make_host(tmp_path, environ={"CPU_AFFINITY_CONF": "1"}), Declared(framework="torch_npu"))
    assert judge("dead_variables", env).verdict is Verdict.PASS


def test_who_reads_it_is_unknown_without_a_framework(tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="CPU_AFFINITY_CONF"):
        judge("dead_variables", AscendEnv(make_host(tmp_path, environ={"CPU_AFFINITY_CONF": "1"})))


def test_all_binders_side_by_side(tmp_path: Path) -> None:
    environ = {
        "CPU_AFFINITY_CONF": "2",
        "MSRUN_CPU_LIST": "[0, 1, 2, 3]",
        "OMP_PROC_BIND": "close",
        "CPU_AFFINITY": "1",
    }
    host = make_host(tmp_path, npus=8, cpuset="0-23", mask="0-3", quota=2, environ=environ)
    env = AscendEnv(host, Declared(torch_npu_release="7.3.0"))
    states = {one.name: one.state for one in env.binders.all()}
    assert states == {
        "cpuset": "acts",
        "mask": "acts",
        "CPU quota": "acts",
        "CPU_AFFINITY_CONF='2'": "void",
        "msrun --bind_core": "acts",
        "OMP_PROC_BIND=close": "acts",
        "CPU_AFFINITY=1": "unclear",
    }
    assert env.binders.table().count("\n") == 6
