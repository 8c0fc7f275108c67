"""Which cores each thread gets, and when torch_npu binds nothing."""

from __future__ import annotations

import pytest

from pytest_ascendenv.affinity import simulate

A2 = {0: "144-167", 1: "144-167", 2: "96-119", 3: "96-119", 4: "0-23", 5: "0-23", 6: "48-71", 7: "48-71"}


def cores(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


def test_fine_binding_from_7_1_on() -> None:
    device = simulate("2", cpus=192, devices=8).devices[1]
    assert (device.main, device.backward, device.acl, device.release, device.watchdog) == (
        (24,),
        (24,),
        (25,),
        (26,),
        (27,),
    )
    assert device.others == cores(28, 47)
    assert device.hot == {24, 25, 26, 27}


def test_fine_binding_until_7_0_has_a_core_for_the_backward_thread() -> None:
    device = simulate("2", cpus=192, devices=8, release="7.0.0").devices[0]
    assert (device.main, device.backward, device.acl, device.release, device.watchdog) == ((0,), (1,), (2,), (3,), (4,))
    assert device.others == cores(5, 23)


@pytest.mark.parametrize(("release", "last"), [("7.0.0", cores(91, 99)), ("7.3.0", cores(84, 95))])
def test_cores_that_do_not_divide(release: str, last: tuple[int, ...]) -> None:
    """Until 7.0 blocks are rounded up and the last one is short, later the rest is left unused."""
    assert simulate("1", cpus=100, devices=8, release=release).devices[7].others == last


def test_single_card_jobs_all_pin_the_same_cores() -> None:
    binding = simulate("2", cpus=192, devices=1)
    assert binding.devices[0].hot == {0, 1, 2, 3}
    assert binding.devices[0].others == cores(4, 191)


def test_coarse_binding_with_one_device_isolates_nothing() -> None:
    assert any("isolates nothing" in note for note in simulate("1", cpus=192, devices=1).notes)


@pytest.mark.parametrize(("release", "mask", "missing"), [("7.0.0", "0-190", 191), ("7.3.0", "0-95", 96)])
def test_a_core_outside_the_mask_skips_all_binding(release: str, mask: str, missing: int) -> None:
    binding = simulate("1", cpus=192, devices=8, mask=mask, release=release)
    assert (binding.mode, binding.binds, binding.effective) == ("coarse", False, "off")
    assert f"core {missing} " in binding.reason
    assert all(device.main is None for device in binding.devices)


def test_force_overrides_a_taskset_but_not_a_cpuset() -> None:
    taskset = simulate("1,force:1", cpus=192, devices=8, mask="0-95", release="26.1.0")
    assert taskset.devices[7].main == cores(168, 191)
    cpuset = simulate("1,force:1", cpus=192, devices=8, cpuset="0-29", release="26.1.0")
    assert cpuset.devices[1].main == cores(24, 29)
    assert cpuset.devices[2].main == ()


def test_before_26_1_the_last_core_of_a_range_is_not_checked() -> None:
    conf = ",".join(["1", *(f"npu{i}:0-24" for i in range(8))])
    assert simulate(conf, cpus=192, devices=8, mask="0-23").binds
    assert not simulate(conf, cpus=192, devices=8, mask="0-23", release="26.1.0").binds


def test_until_7_0_the_mask_is_looked_at_before_the_string() -> None:
    narrow = simulate("99999999999", cpus=192, devices=8, mask="0-95", release="7.0.0")
    assert not narrow.crashes
    assert simulate("99999999999", cpus=192, devices=8, mask="0-95").crashes


@pytest.mark.parametrize(("cpus", "release"), [(32, "7.3.0"), (48, "7.0.0"), (32, "26.1.0")])
def test_fine_binding_needs_enough_cores(cpus: int, release: str) -> None:
    binding = simulate("2", cpus=cpus, devices=8, release=release)
    assert binding.effective == "coarse"
    assert binding.devices[0].hot == frozenset()
    assert any("fewer than" in note for note in binding.notes)


def test_fewer_cores_than_devices() -> None:
    old = simulate("1", cpus=4, devices=8, release="7.0.0").devices
    assert (old[3].main, old[4].main) == ((3,), ())
    assert not simulate("1", cpus=4, devices=8).binds
    assert not simulate("1", cpus=4, devices=8, release="26.1.0").binds


def test_local_cores_of_an_atlas_a2() -> None:
    binding = simulate("2,npu_affine:1", cpus=192, devices=8, topology=A2)
    assert (binding.devices[0].main, binding.devices[1].main) == ((144,), (156,))
    assert binding.devices[0].others == cores(148, 155)


def test_ranges_replace_local_cores() -> None:
    binding = simulate("1,npu_affine:1,npu0:0-3", cpus=192, devices=8, topology=A2)
    assert (binding.devices[0].main, binding.devices[1].main) == (cores(0, 3), cores(156, 167))


@pytest.mark.parametrize(("release", "outcome"), [("7.2.0", cores(0, 3)), ("26.1.0", (*cores(0, 3), *cores(8, 11)))])
def test_local_cores_in_two_ranges(release: str, outcome: tuple[int, ...]) -> None:
    assert (
        simulate("1,npu_affine:1", cpus=16, devices=1, release=release, topology={0: "0-3,8-11"}).devices[0].main
        == outcome
    )


def test_release_7_3_ends_on_local_cores_in_two_ranges() -> None:
    binding = simulate("1,npu_affine:1", cpus=16, devices=1, topology={0: "0-3,8-11"})
    assert binding.crashes
    assert "0-3,8-11" in binding.reason


def test_the_last_card_takes_the_rest_from_26_1_on() -> None:
    topology = {0: "0-6", 1: "0-6"}
    shares = [
        device.main
        for device in simulate("1,npu_affine:1", cpus=8, devices=2, release="26.1.0", topology=topology).devices
    ]
    assert shares == [cores(0, 2), cores(3, 6)]


def test_without_the_topology_npu_affine_is_told_as_not_known() -> None:
    assert any("topology" in note for note in simulate("1,npu_affine:1", cpus=192, devices=8).notes)


def test_interrupts_take_two_cores() -> None:
    device = simulate("2,bind_irq:1", cpus=192, devices=8, release="master").devices[0]
    assert (device.main, device.others) == ((2,), cores(6, 23))


def test_an_old_release_does_not_read_the_variable() -> None:
    assert "does not read" in simulate("1", cpus=192, devices=8, release="5.0.0").reason


@pytest.mark.parametrize(
    "machine",
    [
        {"cpus": 0, "devices": 1},
        {"cpus": 8, "devices": 0},
        {"cpus": 8, "devices": 1, "mask": "9-12"},
        {"cpus": 8, "devices": 1, "mask": "3-1"},
        {"cpus": 8, "devices": 1, "release": "newest"},
        {"cpus": 10**12, "devices": 1},
        {"cpus": 8, "devices": 1, "topology": {0: "a-b"}},
    ],
)
def test_what_is_no_machine_is_refused(machine: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"core|release"):
        simulate("1", **machine)  # type: ignore[arg-type]
