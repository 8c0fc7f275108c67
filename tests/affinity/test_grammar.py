"""CPU_AFFINITY_CONF release by release.

``effects.txt`` holds what the parsers of torch_npu 7.0.0, 7.3.0 and 26.1.0 (NPUAffinityController.cpp) answer when they
are compiled alone and run on each string; the column of 6.0.RC3 follows the rules of strtol.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ascendenv.affinity import Binding, simulate
from pytest_ascendenv.affinity.releases import release_of_wheel, rules
from pytest_ascendenv.probes import cpulist

RELEASES = ("6.0.RC3", "7.0.0", "7.3.0", "26.1.0")


def rows() -> Iterator[tuple[str, str, str]]:
    lines = Path(__file__).with_name("effects.txt").read_text().splitlines()[1:]
    for line in lines:
        conf, *effects = (cell.strip() for cell in line.rsplit(" | ", 4))
        for release, effect in zip(RELEASES, effects, strict=True):
            yield ast.literal_eval(conf), release, effect


def shown(binding: Binding) -> str:
    if binding.crashes:
        return "crash"
    if binding.mode == "off":
        return "off"
    device = binding.devices[0]
    if device.main is None:
        return f"{binding.mode} skipped"
    kinds = [device.main, device.acl, device.release, device.watchdog, device.others]
    cells = [cpulist.show(cores or ()) or "refused" for cores in kinds]
    return f"{binding.mode} " + (cells[0] if len(set(cells)) == 1 else "/".join(cells))


def test_the_table_is_large_enough() -> None:
    assert len({conf for conf, _, _ in rows()}) >= 200


@pytest.mark.parametrize(("conf", "release", "effect"), list(rows()))
def test_effect(conf: str, release: str, effect: str) -> None:
    assert shown(simulate(conf, cpus=192, devices=8, release=release)) == effect
    if release == "26.1.0" and "bind_irq:1" not in conf:
        assert shown(simulate(conf, cpus=192, devices=8, release="master")) == effect


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.text(), st.from_regex(r"[0-9npufrcemod_ali,:=; x-]{0,40}", fullmatch=True)),
    st.sampled_from([*RELEASES, "5.0.0", "7.1.0", "7.2.0", "master"]),
    st.integers(1, 200),
    st.integers(1, 16),
)
def test_any_text_has_an_effect(conf: str, release: str, cpus: int, devices: int) -> None:
    binding = simulate(conf, cpus=cpus, devices=devices, release=release)
    assert binding.binds or binding.reason
    assert len(binding.devices) == devices
    assert all(one.token in conf and one.why for one in binding.ignored)
    assert all(one.meant != one.token for one in binding.ignored)
    assert binding.table().count("\n") == devices


@pytest.mark.parametrize(
    ("conf", "meant"),
    [
        ("mode=1", "mode:1"),
        ("MODE:2", "mode:2"),
        ("mdoe:2", "mode:2"),
        (" 1", "1"),
        ("2 ", "2"),
        ("+1", "1"),
        ("1.0", "1"),
        ("on", "1"),
        ("fine", "2"),
        ("'1'", "1"),
        ("1,npu_0:0-3", "npu0:0-3"),
        ("1,npu:0-2", ""),
        ("1,npu0=0-1", "npu0:0-1"),
        ("1,NPU1: 4-7", "npu1:4-7"),
        ("1,npu0:9-3", "npu0:3-9"),
        ("1, npu0:0-1", "npu0:0-1"),
        ("1,npu0:0-3,8-9", "npu0:8-9"),
        ("1,lazybind:0", "lazy_bind:0"),
        ("1,npu-affine=1", "npu_affine:1"),
        ("1,npu0:all", ""),
        ("1,cpu0:0-3", ""),
    ],
)
def test_an_ignored_token_is_named_with_what_was_meant(conf: str, meant: str) -> None:
    (one,) = simulate(conf, cpus=192, devices=8).ignored
    assert one.token in conf.split(",")
    assert one.meant == meant


@pytest.mark.parametrize(
    ("conf", "release", "token", "why"),
    [
        ("1,npu8:0-1", "7.3.0", "npu8:0-1", "only 8 visible NPUs"),
        ("1,2", "7.3.0", "1", "the last mode counts"),
        ("1,2", "26.1.0", "2", "the first mode counts"),
        ("1,force:1", "7.3.0", "force:1", "from 26.1 on"),
        ("1,force:2", "26.1.0", "force:2", "0 or 1"),
        ("1,force:1,force:0", "26.1.0", "force:0", "the first force counts"),
        ("1,lazy_bind:0", "7.1.0", "lazy_bind:0", "from 7.2 on"),
        ("1,npu_affine:1", "7.0.0", "npu_affine:1", "from 7.1 on"),
        ("1,bind_irq:1", "26.1.0", "bind_irq:1", "from 26.2 on"),
        ("1,bind_irq=0", "master", "bind_irq=0", "no key:value"),
        ("1,npu100:0-1", "26.1.0", "npu100:0-1", "no key"),
    ],
)
def test_why_a_token_is_ignored(conf: str, release: str, token: str, why: str) -> None:
    (one,) = simulate(conf, cpus=192, devices=8, release=release).ignored
    assert one.token == token
    assert why in one.why


@pytest.mark.parametrize("conf", ["1,lazy_bind:0", "2,force:1,npu0:0-3", "mode:2,npu0:0-23", "0", "1,npu_affine:1"])
def test_well_written_strings_have_nothing_ignored(conf: str) -> None:
    assert simulate(conf, cpus=192, devices=8, release="26.1.0", topology={0: "0-23"}).ignored == ()


@pytest.mark.parametrize(
    ("release", "generation"),
    [
        ("5.0.1", "0"),
        ("6.0.RC1", "0"),
        ("6.0.rc2", "A"),
        ("6.0.RC3", "A"),
        ("6.0.0", "B"),
        ("v7.0.0", "B"),
        ("7.1.0", "C"),
        ("7.3.0", "C"),
        ("26.0.0", "C"),
        ("26.1.0", "D"),
        ("26.2.0", "D'"),
        ("master", "D'"),
        ("2.1.0.post8", "A"),
        ("2.5.1", "B"),
        ("2.6.0.post3", "C"),
        ("2.7.1.post2+gitabc", "C"),
        ("2.12.0", "D"),
    ],
)
def test_releases_and_wheels(release: str, generation: str) -> None:
    assert rules(release).generation == generation


@pytest.mark.parametrize("release", ["", "2.99.0", "2.7.1.dev20250101", "latest", "7"])
def test_unknown_releases_are_refused_with_examples(release: str) -> None:
    with pytest.raises(ValueError, match=r"7\.3\.0"):
        rules(release)


def test_development_builds_belong_to_no_release() -> None:
    assert release_of_wheel("2.7.1.dev20250901") is None


@pytest.mark.parametrize(("conf", "meant"), [("1;npu0:0-3", "1,npu0:0-3"), ("1,npu0:0–3", "npu0:0-3")])
def test_other_separators_are_recognised(conf: str, meant: str) -> None:
    assert [one.meant for one in simulate(conf, cpus=192, devices=8).ignored] == [meant]
