"""affinity_mode judges what CPU_AFFINITY_CONF does on this host, not what it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hosts import make_host

from pytest_ascendenv.checks.affinity import AffinityMode
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.versions import installed
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

CHECK = AffinityMode()
CONF = "CPU_AFFINITY_CONF"


def judge(tmp_path: Path, conf: str | None, wanted: object, release: str | None = "7.3.0", **host: object) -> Finding:
    environ = {**({CONF: conf} if conf is not None else {}), **host.pop("environ", {})}  # type: ignore[dict-item]
    fake = make_host(tmp_path, environ=environ, **{"npus": 8, **host})  # type: ignore[arg-type]
    env = AscendEnv(fake, Declared(torch_npu_release=release))
    return CHECK.judge(CHECK.parse(wanted), env)


@pytest.mark.parametrize(
    ("conf", "mode"),
    [(None, "off"), ("", "off"), ("0", "off"), ("1", "coarse"), ("2", "fine"), ("mode=1", "off"), (" 1", "off")],
)
@pytest.mark.parametrize("npus", [0, 8])
def test_the_effect_is_judged(tmp_path: Path, conf: str | None, mode: str, npus: int) -> None:
    for wanted in ("off", "coarse", "fine"):
        finding = judge(tmp_path / wanted, conf, wanted, npus=npus)
        assert finding.verdict is (Verdict.PASS if wanted == mode else Verdict.FAIL)


def test_fine_where_coarse_is_wanted_shows_the_cores_and_the_way_out(tmp_path: Path) -> None:
    finding = judge(tmp_path, "2,npu1:30-40", "coarse")
    assert finding.verdict is Verdict.FAIL
    assert "CPU_AFFINITY_CONF='2,npu1:30-40'" in finding.found
    assert finding.fix == f"export {CONF}=1,npu1:30-40"
    rows = finding.detail.splitlines()
    assert rows[0].split() == ["NPU", "main", "acl", "release", "watchdog", "others,", "workers"]
    assert rows[2].split() == ["1", "30", "31", "32", "33", "34-40"]
    texts = [str(fact) for fact in finding.evidence]
    assert any(text.startswith(CONF) and "environment" in text for text in texts)
    assert any(text.startswith("online cores: 0-191") for text in texts)


def test_a_misspelt_mode_is_off_and_the_finding_says_what_was_meant(tmp_path: Path) -> None:
    finding = judge(tmp_path, "mode=1", "coarse")
    assert "no token names a mode" in finding.cause
    assert any("'mode=1' is ignored" in note and "mode:1" in note for note in finding.notes)
    assert finding.fix == f"export {CONF}=mode:1"


def test_the_fix_is_quoted_for_the_shell_and_acts(tmp_path: Path) -> None:
    assert judge(tmp_path, "1;npu0:0-3", "fine").fix == f"export {CONF}=2"


def test_a_container_smaller_than_the_host_leaves_the_variable_inert(tmp_path: Path) -> None:
    finding = judge(tmp_path, "1", "coarse", cpuset="0-23")
    assert finding.verdict is Verdict.FAIL
    assert "core 24 of npu1" in finding.cause
    assert "force:1" in finding.fix
    assert any(str(fact).startswith("cpuset: 0-23") for fact in finding.evidence)


def test_ranges_inside_the_mask_bind(tmp_path: Path) -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": "0"}
    assert judge(tmp_path, "1,npu0:0-23", "coarse", cpuset="0-23", environ=environ).verdict is Verdict.PASS


def test_without_an_npu_a_mask_that_always_skips_is_off(tmp_path: Path) -> None:
    finding = judge(tmp_path, "1", "coarse", npus=0, mask="4-7")
    assert finding.verdict is Verdict.FAIL
    assert "mask" in finding.cause


def test_without_an_npu_a_mask_that_may_skip_is_a_note(tmp_path: Path) -> None:
    conf = "1," + ",".join(f"npu{i}:0-9" for i in range(8))
    finding = judge(tmp_path, conf, "coarse", npus=0, mask="0-23")
    assert finding.verdict is Verdict.PASS
    assert any("depends on the number of visible NPUs" in note for note in finding.notes)


def test_unknown_release_is_judged_where_all_agree(tmp_path: Path) -> None:
    assert judge(tmp_path, "1", "coarse", None).verdict is Verdict.PASS
    assert judge(tmp_path / "b", "1,2", "off", None).verdict is Verdict.FAIL


def test_unknown_release_is_unknown_where_they_differ(tmp_path: Path) -> None:
    finding = judge(tmp_path, "1,2", "coarse", None)
    assert finding.verdict is Verdict.UNKNOWN
    assert "7.1 to 26.0: fine" in finding.found
    assert "26.1: coarse" in finding.found
    assert "torch_npu_release" in finding.fix


def test_the_oldest_generation_counts_only_where_it_is_known(tmp_path: Path) -> None:
    assert judge(tmp_path, "2", "fine", None).verdict is Verdict.PASS
    assert judge(tmp_path / "b", "2", "fine", "6.0.RC3").verdict is Verdict.FAIL


def test_fine_on_too_few_cores_is_coarse(tmp_path: Path) -> None:
    finding = judge(tmp_path, "2", "fine", online="0-31")
    assert finding.verdict is Verdict.FAIL
    assert "fewer than 5 cores" in " ".join(finding.notes)


def test_a_number_too_large_meets_nothing(tmp_path: Path) -> None:
    for wanted in ("off", "coarse", "fine"):
        finding = judge(tmp_path / wanted, "99999999999", wanted)
        assert finding.verdict is Verdict.FAIL
        assert "std::out_of_range" in finding.cause


def test_mindspore_never_reads_the_variable(tmp_path: Path) -> None:
    env = AscendEnv(make_host(tmp_path, environ={CONF: "1"}), Declared(framework="mindspore"))
    finding = CHECK.judge("coarse", env)
    assert finding.verdict is Verdict.FAIL
    assert "msrun --bind_core" in finding.fix
    assert "mindspore.runtime.set_cpu_affinity" in finding.fix
    off = CHECK.judge("off", env)
    assert off.verdict is Verdict.PASS
    assert "never reads" in off.notes[0]


@pytest.mark.skipif(
    installed("mindspore").status != "known" or installed("torch_npu").status == "known",
    reason="speaks of an environment with mindspore and without torch_npu",
)
def test_this_environment_without_torch_npu_says_that_nothing_reads_it() -> None:
    finding = CHECK.judge("coarse", AscendEnv(Host(environ={**os.environ, CONF: "1"})))
    assert any("nothing in this environment reads" in note for note in finding.notes)


@pytest.mark.parametrize(
    ("given", "read"), [("off", "off"), (0, "off"), ("1", "coarse"), (2, "fine"), ("fine", "fine")]
)
def test_modes_are_words_or_numbers(given: object, read: str) -> None:
    assert CHECK.parse(given) == read


@pytest.mark.parametrize("given", [True, 3, "auto", None, 1.0, ["fine"]])
def test_other_modes_are_refused_with_what_is_allowed(given: object) -> None:
    with pytest.raises(ValueError, match='"off", "coarse" or "fine"'):
        CHECK.parse(given)


def test_the_fixture_gives_the_simulated_cores(tmp_path: Path) -> None:
    host = make_host(tmp_path, npus=8, environ={CONF: "2", "ASCEND_RT_VISIBLE_DEVICES": "4,5"})
    affinity = AscendEnv(host, Declared(torch_npu_release="7.3.0")).affinity
    assert affinity.mode == "fine"
    assert affinity.devices.value == (4, 5)
    assert [device.main for device in affinity.binding.devices] == [(0,), (96,)]


def test_cores_of_unseen_npus_are_unknown(tmp_path: Path) -> None:
    affinity = AscendEnv(make_host(tmp_path, environ={CONF: "2"}), Declared(torch_npu_release="7.3.0")).affinity
    with pytest.raises(Unknown, match="davinci"):
        affinity.binding  # noqa: B018


def test_a_release_that_is_not_known_is_unknown_where_it_matters(tmp_path: Path) -> None:
    affinity = AscendEnv(make_host(tmp_path, npus=8, environ={CONF: "1,2"})).affinity
    with pytest.raises(Unknown, match=r"26\.1: coarse"):
        affinity.mode  # noqa: B018


def test_npu_smi_tells_the_local_cores_that_npu_affine_goes_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "npu-smi"
    tool.write_text(
        "#!/bin/sh\nprintf '\\tNPU0\\tNPU1\\tCPU Affinity\\nNPU0\\tX\\tHCCS\\t0-1\\nNPU1\\tHCCS\\tX\\t0-1\\n'\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert AscendEnv().affinity.topology.value == {0: "0-1", 1: "0-1"}
    tool.write_text("#!/bin/sh\necho dcmi module initialize failed. ret is -8005\n")
    assert AscendEnv().affinity.topology.status == "unknown"
    tool.unlink()
    assert "npu-smi" in AscendEnv().affinity.topology.reason
