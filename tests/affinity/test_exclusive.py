"""Fine binding on shared hosts: pinned_cores, exclusive_host, worker_cores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import Npu, Process, Thread, make_host

from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.contention import Contention, Intruder
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

NEIGHBOUR = Process(7001, threads=(Thread("acl_thread", "1"), Thread("release_thread", "2"), Thread("x", "0")))
FAR = Process(7001, threads=(Thread("acl_thread", "181"), Thread("release_thread", "182"), Thread("x", "0")))


def make_env(tmp_path: Path, conf: str | None = "2", release: str | None = "7.3.0", **host: Any) -> AscendEnv:
    environ = {**({"CPU_AFFINITY_CONF": conf} if conf else {}), **host.pop("environ", {})}
    fake = make_host(tmp_path, environ=environ, **{"npus": 8, **host})
    return AscendEnv(fake, Declared(torch_npu_release=release))


def judge(name: str, env: AscendEnv, *args: Any, **kwargs: Any) -> Finding:
    check = load(name)
    return check.judge(check.parse(*args, **kwargs), env)


def test_fine_binding_on_a_host_of_its_own(tmp_path: Path) -> None:
    finding = judge("pinned_cores", make_env(tmp_path, processes=[Process(1), Process(50, threads=[Thread("y")] * 9)]))
    assert finding.verdict is Verdict.PASS
    assert finding.found.startswith("threads pinned to cores 0-3,24-27")


def test_a_foreign_job_on_the_pinned_cores(tmp_path: Path) -> None:
    finding = judge("pinned_cores", make_env(tmp_path, processes=[NEIGHBOUR]))
    assert finding.verdict is Verdict.FAIL
    assert "cores 1-2" in finding.cause
    assert "pid 7001" in finding.cause
    assert "CPU_AFFINITY_CONF=1" in finding.fix


def test_a_foreign_job_on_other_cores(tmp_path: Path) -> None:
    assert judge("pinned_cores", make_env(tmp_path, processes=[FAR])).verdict is Verdict.PASS


@pytest.mark.parametrize("conf", ["1", None, "mode=2"])
def test_without_pinned_cores_nothing_collides(tmp_path: Path, conf: str | None) -> None:
    assert judge("pinned_cores", make_env(tmp_path, conf, processes=[NEIGHBOUR])).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "host",
    [
        {"npus": 8, "environ": {"ASCEND_RT_VISIBLE_DEVICES": "3"}},
        {"npus": 1, "pci": [Npu(f"0000:0{i}:00.0") for i in range(8)]},
    ],
)
def test_one_visible_npu_of_many_pins_the_cores_that_all_such_jobs_pin(tmp_path: Path, host: dict[str, Any]) -> None:
    finding = judge("pinned_cores", make_env(tmp_path, **host))
    assert finding.verdict is Verdict.FAIL
    assert "one of 8 NPUs" in finding.cause
    assert "cores 0-3" in finding.cause


def test_the_only_npu_of_a_host_is_no_single_card_job(tmp_path: Path) -> None:
    assert judge("pinned_cores", make_env(tmp_path, npus=1)).verdict is Verdict.PASS


def test_ranges_of_its_own_still_need_other_jobs_to_have_theirs(tmp_path: Path) -> None:
    env = make_env(tmp_path, "2,npu0:72-95", environ={"ASCEND_RT_VISIBLE_DEVICES": "3"})
    assert judge("pinned_cores", env).verdict is Verdict.PASS


def test_pinned_cores_of_unseen_npus_are_unknown(tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="davinci"):
        judge("pinned_cores", make_env(tmp_path, npus=0))


@dataclasses.dataclass
class Measured(AscendEnv):
    """An environment whose contention was measured before."""

    seen: Contention = dataclasses.field(default_factory=lambda: Contention({0: 0.0}))
    asked: list[int] = dataclasses.field(default_factory=list)

    def contention(self, cores: Sequence[int]) -> Contention:
        self.asked = list(cores)
        return self.seen


FOREIGN = Intruder(4711, "tar", 0.93, (0,), 0, False)
OWN = Intruder(4712, "python", 0.93, (0,), 0, True)


@pytest.mark.parametrize(
    ("seen", "verdict", "words"),
    [
        (Contention({0: 0.05}), Verdict.PASS, ""),
        (Contention({0: 0.20}), Verdict.PASS, ""),
        (Contention({0: 0.50}, (FOREIGN,)), Verdict.FAIL, "pid 4711 (tar)"),
        (Contention({0: 0.50}, (FOREIGN,), throttled=19), Verdict.FAIL, "quota stopped this group 19 times"),
        (Contention({0: 0.50}, (FOREIGN,), stolen={0: 0.4}), Verdict.FAIL, "hypervisor took 40%"),
        (Contention({0: 0.50}, (OWN,)), Verdict.FAIL, "processes of this run"),
        (Contention({0: 0.50}, (OWN, FOREIGN)), Verdict.FAIL, "foreign load"),
        (Contention({0: 0.50}, hidden=True), Verdict.FAIL, "PID namespace"),
        (Contention({0: 0.50}), Verdict.FAIL, "too short"),
    ],
)
def test_the_cause_of_waiting(tmp_path: Path, seen: Contention, verdict: Verdict, words: str) -> None:
    env = Measured(make_host(tmp_path, npus=8), seen=seen)
    finding = judge("exclusive_host", env)
    assert finding.verdict is verdict
    assert words in finding.cause


def test_load_that_costs_nothing_is_a_note(tmp_path: Path) -> None:
    finding = judge("exclusive_host", Measured(make_host(tmp_path), seen=Contention({0: 0.05}, (FOREIGN,))))
    assert finding.verdict is Verdict.PASS
    assert "pid 4711" in finding.notes[0]


def test_the_pinned_cores_are_probed_else_a_sample(tmp_path: Path) -> None:
    pinned = Measured(
        make_host(tmp_path, npus=2, environ={"CPU_AFFINITY_CONF": "2"}), Declared(torch_npu_release="7.3.0")
    )
    judge("exclusive_host", pinned)
    assert pinned.asked == [0, 1, 2, 3, 96, 97, 98, 99]
    unbound = Measured(make_host(tmp_path / "b"))
    judge("exclusive_host", unbound)
    assert len(unbound.asked) == 64


def test_another_npu_job_needs_no_measurement(tmp_path: Path) -> None:
    env = Measured(make_host(tmp_path, npus=8, processes=[FAR]))
    finding = judge("exclusive_host", env)
    assert finding.verdict is Verdict.FAIL
    assert "pid 7001" in finding.cause
    assert env.asked == []


@pytest.mark.parametrize(
    ("conf", "workers", "forked", "verdict", "cores"),
    [
        ("2", 20, False, Verdict.PASS, "20 cores"),
        ("2", 41, False, Verdict.FAIL, "20 cores"),
        ("2", 1, True, Verdict.FAIL, "1 core"),
        ("1", 24, True, Verdict.PASS, "24 cores"),
        ("1", 49, True, Verdict.FAIL, "24 cores"),
        (None, 24, True, Verdict.PASS, "24 cores"),
        (None, 49, False, Verdict.FAIL, "24 cores"),
    ],
)
def test_workers_against_the_cores_that_are_left(
    tmp_path: Path, conf: str | None, workers: int, forked: bool, verdict: Verdict, cores: str
) -> None:
    finding = judge("worker_cores", make_env(tmp_path, conf), workers, forked=forked)
    assert finding.verdict is verdict
    assert finding.found.startswith(cores)


def test_a_pool_on_the_pinned_core_is_the_incident(tmp_path: Path) -> None:
    finding = judge("worker_cores", make_env(tmp_path), 64, forked=True)
    assert "pins the main thread to one core" in finding.cause
    assert "set_thread_affinity" in finding.fix


def test_a_few_workers_too_many_are_a_note(tmp_path: Path) -> None:
    finding = judge("worker_cores", make_env(tmp_path), 30)
    assert finding.verdict is Verdict.PASS
    assert "30 workers share 20 cores" in finding.notes[0]


@pytest.mark.parametrize("args", [(0,), ("8",), (True,), (8, "yes")])
def test_bad_numbers_of_workers(args: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="found"):
        load("worker_cores").parse(*args)
