"""A declared program is what the training preconditions judge; one capture serves them all."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("mindspore", reason="MindSpore is not installed")

TRAIN = """
import os, sys
import numpy as np, mindspore as ms, mindspore.dataset as ds
from mindspore import nn
open("started", "a").write("x")
ms.set_context(mode=ms.GRAPH_MODE if sys.argv[1] == "graph" else ms.PYNATIVE_MODE, device_target="Ascend")
net = nn.Dense(4, 2)
data = ds.NumpySlicesDataset({"x": np.ones((64, 4), np.float32), "y": np.zeros(64, np.int32)}, num_parallel_workers=4)
data = data.batch(8, num_parallel_workers=4)
model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True), nn.Momentum(net.trainable_params(), 0.1, 0.9),
                 amp_level="O2")
model.train(3, data, dataset_sink_mode=True)
open("trained", "w").close()
"""
REQUIRE = ("graph_mode", "amp_level=O2", "sink_mode", "min_workers=4", "min_throughput=10")


def run(pytester: pytest.Pytester, mode: str, *args: str) -> pytest.RunResult:
    pytester.path.joinpath("train.py").write_text(TRAIN)
    words = [word for name in REQUIRE for word in ("--ascend-env-require", name)]
    program = ("--ascend-env-program", f"train.py {mode}")
    return pytester.run(sys.executable, "-m", "pytest", *program, *words, "-v", *args, timeout=240)


def test_program_written_for_ascend_passes_on_a_cpu(pytester: pytest.Pytester) -> None:
    result = run(pytester, "graph")
    result.stdout.fnmatch_lines([f"ascend-env::{word.partition('=')[0]} PASSED*" for word in REQUIRE])
    result.stdout.fnmatch_lines(["*captured on a CPU*"])
    assert result.ret == 0
    assert (pytester.path / "started").read_text() == "x", "one capture serves all"
    assert not (pytester.path / "trained").exists()


def test_findings_name_the_call_site(pytester: pytest.Pytester) -> None:
    result = run(pytester, "pynative", "-k", "graph_mode or sink_mode")
    result.assert_outcomes(failed=2, deselected=5)
    result.stdout.fnmatch_lines(["*graph_mode: expected GRAPH_MODE*found PYNATIVE_MODE*", "*train.py:12*"])


def broken(pytester: pytest.Pytester, function: str, *args: str) -> pytest.RunResult:
    """The gate on a program whose map does what ``function`` says."""
    text = TRAIN.replace("data = data.batch(", f"data = data.map({function}, 'x').batch(")
    pytester.path.joinpath("train.py").write_text(text)
    pytester.makefile(
        ".toml", **{"ascend-env": 'unknown = "skip"\nprogram = "train.py graph"\n[require]\nmin_throughput = 10\n'}
    )
    command = (
        sys.executable,
        "-m",
        "pytest",
        "--ascend-env-gate",
        "-p",
        "no:cacheprovider",
        "ascend-env::min_throughput",
    )
    return pytester.run(*command, *args, timeout=240)


def test_broken_pipeline_of_a_program_closes_the_gate_whatever_is_skipped(pytester: pytest.Pytester) -> None:
    result = broken(pytester, "lambda x: {}[7]")
    result.stdout.fnmatch_lines(["min_throughput: *found nothing was measured", "*raised KeyError: 7 (train.py:9*"])
    assert result.ret == 78


def test_measurement_of_a_program_is_in_junit_and_advised_on(pytester: pytest.Pytester) -> None:
    result = broken(pytester, "lambda x: x", "--junitxml=out.xml", "--ascend-env-advise")
    result.assert_outcomes(passed=1)
    found = pytester.path.joinpath("out.xml").read_text()
    assert 'name="throughput.low"' in found
    assert 'name="throughput.advice"' in found
    result.stdout.fnmatch_lines(["ascend-env::min_throughput: * samples/s (* samples in * s)"])
