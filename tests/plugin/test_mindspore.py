"""Markers judge what a test really does with MindSpore, on a machine without an NPU."""

from __future__ import annotations

import pytest

from pytest_ascendenv.checks import HOST_CHECKS

pytest.importorskip("mindspore", reason="MindSpore is not installed")

JOB = """
import time, mindspore as ms, mindspore.dataset as ds, numpy as np, pytest
from mindspore import nn

def slow(image):
    time.sleep(0.01)
    return image

def data(workers=1, batch=4):
    images = ds.NumpySlicesDataset({"x": np.ones((16, 3, 8, 8), np.float32), "y": np.zeros(16, np.int32)})
    return images.batch(batch, num_parallel_workers=workers)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.flat, self.head = nn.Flatten(), nn.Dense(256, 10)
    def construct(self, x):
        return self.head(self.flat(self.norm(self.conv(x))))

def train(mode=ms.GRAPH_MODE, level="O2", sink=True, **options):
    ms.set_context(mode=mode)
    net = Net()
    model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
                     nn.Momentum(net.trainable_params(), 0.01, 0.9), amp_level=level,
                     loss_scale_manager=ms.FixedLossScaleManager(1024.0, drop_overflow_update=False), **options)
    model.train(1, data(), dataset_sink_mode=sink)
"""

TESTS = """
@pytest.mark.graph_mode
@pytest.mark.amp_level("O2")
@pytest.mark.sink_mode
class TestMet:
    def test_met(self): train()

@pytest.mark.graph_mode
def test_pynative(): train(mode=ms.PYNATIVE_MODE)

@pytest.mark.amp_level("O2")
def test_level(): train(level="O0")

@pytest.mark.sink_mode
def test_no_sink(): train(sink=False)

@pytest.mark.sink_mode
def test_sink_that_pynative_turns_off(): train(mode=ms.PYNATIVE_MODE)

@pytest.mark.graph_mode
@pytest.mark.amp_level("O2")
@pytest.mark.sink_mode
def test_trains_nothing(): pass

@pytest.mark.min_workers(1)
def test_workers():
    for _ in data().create_tuple_iterator(num_epochs=1): pass

@pytest.mark.min_workers(2)
def test_too_few_workers():
    for _ in data().create_tuple_iterator(num_epochs=1): pass

@pytest.mark.min_workers(2)
@pytest.mark.min_throughput(10)
def test_measured_pipeline_has_too_few_workers(throughput): throughput(data().repeat())

@pytest.mark.graph_mode
def test_wrong_train(): ms.Model(Net()).train()  # wrong call

@pytest.mark.graph_mode
def test_wrong_model(): ms.Model()  # wrong call

@pytest.mark.graph_mode
def test_wrong_step(): nn.TrainOneStepCell(Net(), nn.SGD(Net().trainable_params()))()  # wrong call

@pytest.mark.min_throughput(10)
def test_unbatched_rows_are_single_samples(throughput):
    rows = ds.NumpySlicesDataset(np.ones((50, 6, 6), np.float32))
    result = throughput(rows.map(slow), duration=0.3, warmup=0.0)
    assert result.samples <= 120, "one sample an image of 6 rows, 10 ms each, 2 workers"
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> pytest.RunResult:
    """One inner run for all: importing MindSpore takes seconds."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("job")
    (folder / "test_job.py").write_text(JOB + TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    args = [sys.executable, "-m", "pytest", "-v", "--ascend-env", "-m", "not ascend_env", "-p", "no:cacheprovider"]
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("TestMet::test_met", "PASSED"),
        ("test_pynative", "FAILED"),
        ("test_level", "FAILED"),
        ("test_no_sink", "FAILED"),
        ("test_sink_that_pynative_turns_off", "FAILED"),
        ("test_trains_nothing", "FAILED"),
        ("test_workers", "PASSED"),
        ("test_too_few_workers", "FAILED"),
        ("test_measured_pipeline_has_too_few_workers", "FAILED"),
        ("test_unbatched_rows_are_single_samples", "PASSED"),
    ],
)
def test_outcome(result: pytest.RunResult, test: str, outcome: str) -> None:
    result.stdout.fnmatch_lines([f"test_job.py::{test} {outcome}*"])


@pytest.mark.parametrize(
    "line",
    [
        "graph_mode: expected GRAPH_MODE*, found PYNATIVE_MODE*",
        "amp_level: expected AMP level O2*, found *O0*",
        "sink_mode: expected *True*, found *False*",
        "*test_job.py:2[0-9]*",
        "3 preconditions not met: sink_mode, amp_level, graph_mode",
        "test_job.py::TestMet::test_met*: MindSpore turns the sink off on this CPU machine*",
        "min_workers: expected at least 2 workers*",
    ],
)
def test_finding_says(result: pytest.RunResult, line: str) -> None:
    result.stdout.fnmatch_lines_random([line])


def test_a_wrong_call_ends_at_the_users_line(result: pytest.RunResult) -> None:
    text = result.stdout.str()
    assert "spies.py" not in text
    assert "hooks.py" not in text
    numbers = [number for number, line in enumerate((JOB + TESTS).splitlines(), 1) if line.endswith("# wrong call")]
    result.stdout.fnmatch_lines([f"test_job.py:{number}: TypeError" for number in numbers[:2]])


def test_nothing_but_the_marked_tests_ran(result: pytest.RunResult) -> None:
    result.assert_outcomes(passed=3, failed=10, deselected=len(HOST_CHECKS))
