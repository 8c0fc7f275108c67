"""A host as one JSON document, judged elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosts import Npu, Process, Thread, make_host

from pytest_ascendenv.__main__ import main
from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.capture import capture, restore

JOB = Process(7001, cmdline="train --token secret", threads=(Thread("acl_thread", "1"), Thread("a"), Thread("b")))


@pytest.mark.parametrize("version", [1, 2])
def test_a_replayed_host_is_judged_alike(tmp_path: Path, version: int) -> None:
    host = make_host(
        tmp_path / "a",
        cgroup=version,
        cpuset="0-95",
        mask="0-47",
        quota=12,
        npus=8,
        pci=[Npu("0000:c1:00.0", 6, "144-167")],
        processes=[JOB, Process(5)],
        environ={"CPU_AFFINITY_CONF": "1", "AWS_SECRET_ACCESS_KEY": "hush", "OMP_NUM_THREADS": "8"},
    )
    document = json.dumps(capture(host))
    assert "secret" not in document
    assert "hush" not in document
    again = restore(json.loads(document), tmp_path / "b")
    envs = [AscendEnv(one, Declared(torch_npu_release="7.3.0")) for one in (host, again)]
    for name in ("cpu_mask", "cpu_quota", "omp_binding", "pinned_cores", "exclusive_host"):
        first, second = (load(name).judge(None, env) for env in envs)
        assert first == second
    assert envs[0].npus.cards == envs[1].npus.cards
    assert envs[0].cpu.facts() == envs[1].cpu.facts()


def test_this_host_can_be_captured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = AscendEnv().cpu
    assert main(["capture"]) == 0
    there = AscendEnv(restore(json.loads(capsys.readouterr().out), tmp_path)).cpu
    assert (here.online, here.mask, here.cpuset, here.quota) == (there.online, there.mask, there.cpuset, there.quota)


def test_capture_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "host.json"]) == 4
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"version": 2, "files": {}, "environ": {}},
        {"version": 1, "files": {"/etc/passwd": "x"}, "environ": {}},
        {"version": 1, "files": {"/proc/../etc/passwd": "x"}, "environ": {}},
        {"version": 1, "files": {"/proc/x": 5}, "environ": {}},
    ],
)
def test_other_documents_are_refused(tmp_path: Path, document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"captured host|no file of"):
        restore(document, tmp_path)
    assert not list(tmp_path.iterdir())
