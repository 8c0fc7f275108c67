"""The level a network trains at, whoever cast it and whatever was declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import programs
import pytest

from pytest_ascendenv.training import amp
from pytest_ascendenv.training.observe import observing


def cast(level: str, **options: Any) -> Any:
    import mindspore

    return mindspore.amp.auto_mixed_precision(programs.network(), level, **options)


def bf16() -> Any:
    import mindspore

    return cast("O2", dtype=mindspore.bfloat16)


def whole_net_to_float() -> Any:
    import mindspore

    return programs.network().to_float(mindspore.float16)


def one_cell_to_float() -> Any:
    import mindspore

    net = programs.network()
    net[0].to_float(mindspore.float16)
    return net


def own_black_list() -> Any:
    import mindspore

    return mindspore.amp.custom_mixed_precision(programs.network(), black_list=[mindspore.nn.Dense])


def with_state(net: Any) -> Any:
    """A step of one's own: the optimiser and the loss scale beside the network hold parameters at full precision."""
    from mindspore import nn
    from mindspore.experimental import optim

    optimizer = optim.Adam(net.trainable_params(), lr=0.01)
    return nn.CellList([net, optimizer, nn.DynamicLossScaleUpdateCell(1024, 2, 100)])


@pytest.mark.parametrize(
    ("make", "level"),
    [
        (programs.network, "O0"),
        (lambda: cast("O0"), "O0"),
        (lambda: cast("O1"), "O1"),
        (lambda: cast("O2"), "O2"),
        (lambda: cast("O3"), "O3"),
        (lambda: cast("auto"), "auto"),
        (bf16, "O2"),
        (whole_net_to_float, "O3"),
        (one_cell_to_float, "partial"),
        (own_black_list, "partial"),
        (lambda: programs.model(amp_level="O2").train_network, "O2"),
        (lambda: programs.model(amp_level="O3").train_network, "O3"),
        (lambda: programs.model(amp_level="O2", keep_batchnorm_fp32=False).train_network, "O3"),
        (lambda: programs.model(amp_level="O3", keep_batchnorm_fp32=True).train_network, "O2"),
        (lambda: programs.model(cast("O2"), amp_level="O0").train_network, "O2"),
        (lambda: programs.model(programs.network(norm=False), amp_level="O2").train_network, "O2|O3"),
        (lambda: with_state(whole_net_to_float()), "O3"),
    ],
)
def test_the_cells_tell_the_level(mindspore: Any, make: Callable[[], Any], level: str) -> None:
    assert amp.read([make()]).level == level


def test_the_low_precision_is_named(mindspore: Any) -> None:
    assert amp.read([bf16()]).dtypes == ("bf16",)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (programs.network, "2 of 2 cells in fp32, 1 of 1 norm layers in fp32"),
        (lambda: cast("O2"), "2 of 2 cells in fp16, 1 of 1 norm layers in fp32"),
        (lambda: cast("O3"), "2 of 2 cells in fp16, 0 of 1 norm layers in fp32"),
        (bf16, "2 of 2 cells in bf16, 1 of 1 norm layers in fp32"),
        (one_cell_to_float, "1 of 2 cells in fp16, 1 of 1 norm layers in fp32"),
        (lambda: programs.network(norm=False), "2 of 2 cells in fp32"),
    ],
)
def test_the_cells_are_counted_at_the_precision_that_is_named(
    mindspore: Any, make: Callable[[], Any], words: str
) -> None:
    assert str(amp.read([make()])) == words


@pytest.mark.parametrize(
    ("options", "wanted", "verdict"),
    [
        ({"amp_level": "O2"}, "O2", "pass"),
        ({"amp_level": "O2"}, "O3", "fail"),
        ({"amp_level": "O0"}, "O2", "fail"),
        ({"amp_level": "O2", "keep_batchnorm_fp32": False}, "O2", "fail"),
        ({"amp_level": "auto"}, "auto", "pass"),
    ],
)
def test_the_check_judges_the_network_that_trains(
    mindspore: Any, judge: Any, options: Any, wanted: str, verdict: str
) -> None:
    with observing() as seen:
        programs.model(**options).train(1, programs.pipeline())
    finding = judge("amp_level", seen, wanted)
    assert finding.verdict.value == verdict
    assert "Model.train at" in finding.found
    assert "test_amp.py:" not in finding.evidence[0].source  # built in programs.py
    assert "programs.py:" in finding.evidence[0].source
    if "keep_batchnorm_fp32" in options:
        assert "keep_batchnorm_fp32=False" in finding.cause


def test_without_norm_layers_o2_and_o3_are_the_same(mindspore: Any, judge: Any) -> None:
    with observing() as seen:
        programs.model(programs.network(norm=False), amp_level="O3").train(1, programs.pipeline())
    assert [judge("amp_level", seen, level).verdict.value for level in ("O2", "O3", "O0")] == ["pass", "pass", "fail"]
    assert "the same network" in judge("amp_level", seen, "O2").notes[0]


@pytest.mark.parametrize("level", ["O4", "o2", "", 2])
def test_a_level_that_does_not_exist(level: Any) -> None:
    from pytest_ascendenv import checks

    with pytest.raises(ValueError, match="'O0', 'O1', 'O2', 'O3', 'auto'"):
        checks.load("amp_level").parse(level)
