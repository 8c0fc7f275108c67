"""What contradicts itself in a program, and what is known to slow its pipeline down."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import programs
import pytest
from captures import HERE

from pytest_ascendenv import checks
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.training.observe import observing
from pytest_ascendenv.verdict import Fact, Unknown


class Env(AscendEnv):
    """A host of 64 cores and 100 GB, whatever the machine is."""

    cores = 64

    @property
    def cpu(self) -> Any:
        return SimpleNamespace(usable=self.cores, online=tuple(range(self.cores)))

    @property
    def available_memory(self) -> int:
        return 100 * 2**30

    @property
    def shared_memory(self) -> Any:
        return SimpleNamespace(size=2**30, free=2**30, source="/dev/shm")


def judge(name: str, seen: Any, cores: int = 64, **options: Any) -> Any:
    env = Env(observed=seen, subject="test_it", **options)
    env.cores = cores
    check = checks.load(name)
    return check.judge(check.parse(), env)


def trained(**options: Any) -> Any:
    with observing() as seen:
        programs.model(**options).train(1, programs.pipeline(), dataset_sink_mode=True)
    return seen


def iterated(data: Any) -> Any:
    with observing() as seen:
        data.create_dict_iterator(num_epochs=1)
    return seen


def test_a_program_at_peace_with_itself(mindspore: Any) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    finding = judge("program_rules", trained(amp_level="O2"))
    assert (finding.verdict.value, finding.found) == ("pass", "no rule speaks against it")


def test_a_sink_under_pynative_is_void(mindspore: Any) -> None:
    finding = judge("program_rules", trained())
    assert finding.verdict.value == "fail"
    assert "is void under PYNATIVE_MODE" in finding.found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"amp_level": "O3"}, "without a loss scale"),
        ({"amp_level": "O2", "keep_batchnorm_fp32": False}, "takes from O2 what sets it apart from O3"),
    ],
)
def test_what_only_deserves_a_warning(mindspore: Any, options: Any, words: str) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    finding = judge("program_rules", trained(**options))
    assert finding.verdict.value == "pass"
    assert any(words in note for note in finding.notes)


def test_o3_in_bfloat16_needs_no_loss_scale(mindspore: Any) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    with observing() as seen, pytest.raises((TypeError, RuntimeError)):  # the CPU has no such convolution
        net = mindspore.amp.auto_mixed_precision(programs.network(), "O3", dtype=mindspore.bfloat16)
        programs.model(net).train(1, programs.pipeline())
    assert seen.calls[0].facts["amp_level"].value == "O3"
    assert not any("loss scale" in note for note in judge("program_rules", seen).notes)


def test_graph_kernel_is_deprecated(mindspore: Any) -> None:
    seen = trained()  # with graph kernel itself MindSpore would start the AKG compiler here
    seen.calls[0].facts["graph_kernel"] = Fact("graph_kernel", True, "train.py:3")
    assert any("enable_graph_kernel (train.py:3) is deprecated" in note for note in judge("program_rules", seen).notes)


def test_a_level_without_an_optimizer(mindspore: Any) -> None:
    with observing() as seen, pytest.raises(ValueError, match="optimizer"):
        mindspore.train.Model(programs.network(), programs.loss(), amp_level="O2")
    finding = judge("program_rules", seen)
    assert finding.verdict.value == "fail"
    assert "'optimizer' is None" in finding.found


@pytest.mark.parametrize(("size", "verdict"), [(200 * 2**20, "pass"), (300 * 2**20, "fail")])
def test_a_batch_that_no_transfer_carries(mindspore: Any, size: int, verdict: str) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    seen = trained(amp_level="O2")
    seen.calls[0].facts["batch_bytes"] = Fact("batch_bytes", size)
    assert judge("program_rules", seen).verdict.value == verdict


@pytest.mark.parametrize(
    ("rate", "verdict", "noted"), [(100.0, "pass", False), (0.1, "pass", True), (0.001, "fail", False)]
)
def test_batches_slower_than_the_queue_waits(mindspore: Any, rate: float, verdict: str, noted: bool) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    finding = judge("program_rules", trained(amp_level="O2"), measured=(SimpleNamespace(rate=rate),))
    assert finding.verdict.value == verdict
    assert any("s to read" in note for note in finding.notes) is noted


def test_nothing_seen_cannot_be_told(mindspore: Any) -> None:
    with observing() as seen:
        pass
    for name in ("program_rules", "dataset_rules"):
        with pytest.raises(Unknown, match="was seen in test_it"):
            judge(name, seen)


def test_a_pipeline_without_fault(mindspore: Any) -> None:
    assert judge("dataset_rules", iterated(programs.pipeline(workers=2))).verdict.value == "pass"


def test_workers_that_cannot_act(mindspore: Any) -> None:
    finding = judge("dataset_rules", iterated(programs.pipeline(programs.rows_one_by_one, workers=2)))
    assert "was given 2 workers, 1 acts" in finding.found


def test_more_workers_than_cores(mindspore: Any) -> None:
    finding = judge("dataset_rules", iterated(programs.pipeline(workers=2)), cores=4)
    assert (finding.verdict.value, "6 workers for 4 usable cores" in finding.found) == ("fail", True)


def test_a_python_function_with_a_cpp_twin(mindspore: Any) -> None:
    def rescale(image: Any) -> Any:
        return image / 255

    finding = judge("dataset_rules", iterated(programs.pipeline().map(rescale, "image")))
    assert any("mindspore.dataset.vision.Rescale does the same in C++" in note for note in finding.notes)
    assert not any("HWC2CHW" in note for note in finding.notes)


def test_shuffle_after_batch(mindspore: Any) -> None:
    late = judge("dataset_rules", iterated(programs.pipeline().shuffle(4)))
    assert any("shuffle comes after batch" in note for note in late.notes)
    early = judge("dataset_rules", iterated(mindspore.dataset.NumpySlicesDataset([1, 2]).shuffle(2).batch(1)))
    assert not any("shuffle" in note for note in early.notes)


def test_many_small_files(mindspore: Any, tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    for number in range(1001):
        (tmp_path / "cat" / f"{number}.jpg").write_bytes(b"x" * 10)
    with observing() as seen:
        seen.saw_dataset(mindspore.dataset.ImageFolderDataset(str(tmp_path)))
    finding = judge("dataset_rules", seen)
    assert any("reads 1000 or more files" in note and "MindRecord" in note for note in finding.notes)


def test_queues_that_do_not_fit_shared_memory(mindspore: Any) -> None:
    data = programs.pipeline().map(
        programs.scale, "image", num_parallel_workers=2, python_multiprocessing=True, max_rowsize=64
    )
    with observing() as seen:
        seen.saw_dataset(data)
    finding = judge("dataset_rules", seen)  # 2 workers, (16 + 2) rows of 64 MB in and out: 4.5 GiB
    assert (finding.verdict.value, "of /dev/shm" in finding.found) == ("fail", True)
    seen.captured = seen.on_cpu = True  # the job runs elsewhere
    finding = judge("dataset_rules", seen)
    assert finding.verdict.value == "pass"
    assert any("where the job runs on a machine like this one, a larger /dev/shm" in note for note in finding.notes)


def test_copies_of_a_large_program(mindspore: Any) -> None:
    with observing() as seen:
        seen.saw_dataset(programs.pipeline(workers=2, python_multiprocessing=True))
    seen.memory = 40 * 2**30
    finding = judge("dataset_rules", seen)
    assert any("worker processes of 40" in note for note in finding.notes)


def test_a_captured_program_is_judged_by_the_rules(captured: Any) -> None:
    class Captured(Env):
        program = captured("many_workers.py")

    env = Captured(declared=Declared(program="many_workers.py"))
    finding = checks.load("dataset_rules").judge(None, env)
    assert finding.verdict.value == "pass"  # captured on a CPU machine, the cores here are not those of the job
    assert any("MindSpore refuses more than the host's 64 threads" in note for note in finding.notes)
    assert any("1200 workers for 64 usable cores" in note for note in finding.notes)


def test_the_program_alone_gives_throughput_and_storage(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    script = f"""
import mindspore as ms
from parts import Images, loss, momentum, net
class OnDisk(Images):
    def __init__(self): self.root = {str(tmp_path)!r}
data = ms.dataset.GeneratorDataset(OnDisk(), ["image", "label"], num_parallel_workers=300).batch(8)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, data, dataset_sink_mode=True)
"""
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "parts.py").write_text((HERE / "parts.py").read_text())
    env = AscendEnv(declared=Declared(program="train.py", program_cwd=str(tmp_path)))
    check = checks.load("min_throughput")
    finding = check.judge(check.parse(1), env)
    assert (finding.verdict.value, finding.subject) == ("pass", "train.py")
    assert any("clamped" in note for note in finding.notes)
    assert env.program.measured is not None  # the same run, not another one
    assert env.program.data_paths == (str(tmp_path),)
    assert env.program.observation.calls[0].facts["batch_bytes"].value == 8 * 8 * 8 * 4
    assert str(tmp_path) in str(checks.load("local_storage").judge(checks.load("local_storage").parse(), env))
    assert os.path.isdir(tmp_path)
