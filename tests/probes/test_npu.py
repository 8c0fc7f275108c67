"""NPUs without npu-smi, and what npu-smi prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import Npu, make_host
from hypothesis import given
from hypothesis import strategies as st

from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import npu, npu_smi
from pytest_ascendenv.verdict import Unknown

A2 = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc1.b030            Version: 24.1.rc1.b030                                          |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 101.8       43                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3318 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | Warning       | 95.1        41                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          60156/ 65536         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
| 1       0                 | 2290156       | VLLMEngineCore           | 56630                   |
+===========================+===============+====================================================+
"""

A3 = """\
| npu-smi 25.0.rc1.1               Version: 25.0.rc1.1                                             |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     Ascend910           | OK            | 164.6       37                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          2860 / 65536         |
| 0     Ascend910           | OK            | -           36                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          2875 / 65536         |
"""

TOPO = """\
           NPU0       NPU1       NPU2       CPU Affinity
NPU0       X          HCCS       HCCS       144-167
NPU1       HCCS       X          HCCS       144-167
NPU2       HCCS       HCCS       X          96-107,112-119
Legend:
  X    = Self
"""


def test_device_nodes(tmp_path: Path) -> None:
    host = make_host(tmp_path, npus=12)
    (tmp_path / "dev/davinci_manager").write_text("")
    assert npu.nodes(host) == tuple(range(12))
    assert npu.nodes(make_host(tmp_path / "none")) == ()


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, (0, 1, 2, 3)),
        ("0", (0,)),
        ("1,3", (1, 3)),
        ("1, 2,3", (1,)),
        ("1,3,8", (1, 3)),
        ("3,1", (3,)),
        ("", ()),
        ("x", ()),
    ],
)
def test_visible_devices(value: str | None, seen: tuple[int, ...]) -> None:
    assert npu.visible((0, 1, 2, 3), value) == seen


def test_cards_on_the_bus(tmp_path: Path) -> None:
    host = make_host(
        tmp_path,
        pci=[
            Npu("0000:c1:00.0", 6, "144-167"),
            Npu("0000:01:00.0", -1, "", device="0xd803"),
            Npu("0000:75:00.0", 0, "0-23", device="0xa250"),  # HiSilicon's ZIP engine
            Npu("0000:03:00.0", 0, "0-23", vendor="0x8086"),
        ],
    )
    assert [(card.address, card.chip[:4], card.numa, len(card.local)) for card in npu.cards(host)] == [
        ("0000:01:00.0", "910C", -1, 0),
        ("0000:c1:00.0", "910B", 6, 24),
    ]
    assert AscendEnv(host).npus.installed == 2


def test_npu_smi_of_an_atlas_a2() -> None:
    info = npu_smi.info(A2)
    assert info.version == "24.1.rc1.b030"
    assert [(chip.npu, chip.chip, chip.name, chip.health, chip.address) for chip in info.chips] == [
        (0, 0, "910B3", "OK", "0000:c1:00.0"),
        (1, 0, "910B3", "Warning", "0000:c2:00.0"),
    ]
    assert info.jobs == (npu_smi.Job(1, 0, 2290156, "VLLMEngineCore"),)


def test_npu_smi_of_an_atlas_a3() -> None:
    assert [(chip.npu, chip.chip, chip.physical) for chip in npu_smi.info(A3).chips] == [(0, 0, 0), (0, 1, 1)]


def test_mapping() -> None:
    rows = ["NPU ID   Chip ID   Chip Logic ID   Chip Name", "0 0 0 Ascend 910B3", "0 1 - Mcu", "8 0 1 Ascend 910B3"]
    text = "\n".join(rows)
    assert npu_smi.mapping(text) == {0: (0, 0), 1: (8, 0)}
    head = "NPU ID  Chip ID  Chip Logic ID  Chip Phy-ID  Chip Name"
    a3 = "\n".join([head, "0  0  0  0  Ascend910", "0  1  1  1  Ascend910", "0  2  -  -  Mcu"])
    assert npu_smi.mapping(a3) == {0: (0, 0), 1: (0, 1)}


def test_list() -> None:
    text = " Total Count      : 2\n\n NPU ID : 0\n Chip Count : 1\n\n NPU ID : 8\n Chip Count : 2\n"
    assert npu_smi.chips(text) == {0: 1, 8: 2}


def test_topology() -> None:
    assert npu_smi.topology(TOPO) == {0: "144-167", 1: "144-167", 2: "96-107,112-119"}


def test_an_a3_prints_no_local_cores() -> None:
    with pytest.raises(Unknown, match="CPU Affinity"):
        npu_smi.topology("          Phy-ID0   Phy-ID1\nPhy-ID0   X   SIO\n")


@pytest.mark.parametrize("read", [npu_smi.info, npu_smi.mapping, npu_smi.chips, npu_smi.topology])
def test_a_driver_that_does_not_start_is_unknown_in_its_words(read: object) -> None:
    with pytest.raises(Unknown, match="-8005"):
        read("dcmi module initialize failed. ret is -8005\n")  # type: ignore[operator]


@given(st.text(alphabet=st.sampled_from("|0123456789:.-NPUChip ID\nCPU Affinity"), max_size=200))
def test_anything_else_is_unknown(text: str) -> None:
    for read in (npu_smi.info, npu_smi.mapping, npu_smi.chips, npu_smi.topology):
        try:
            assert read(text)
        except Unknown:
            continue


def test_without_the_tool_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unknown, match="npu-smi info"):
        npu_smi.query("-m")
