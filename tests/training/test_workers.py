"""The dataset tree, and whether its workers act and fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import programs
import pytest

from pytest_ascendenv.training import dataset
from pytest_ascendenv.training.observe import note, observing
from pytest_ascendenv.verdict import Unknown


class OnDisk(programs.Rows):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = str(folder)


def iterate(data: Any) -> Any:
    with observing() as seen:
        next(data.create_dict_iterator(num_epochs=1))
    return seen


def test_the_tree_from_the_source_to_the_last(mindspore: Any) -> None:
    from mindspore.dataset import transforms, vision

    data = programs.pipeline(workers=2, python_multiprocessing=True)
    data = data.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image").map(
        transforms.TypeCast(mindspore.int32), "label"
    )
    source, scale, batch, both, _ = dataset.walk(data)
    assert (source.kind, source.functions, source.source) == ("GeneratorDataset", ("Rows",), "random access")
    assert (scale.functions, scale.python, scale.multiprocessing) == (("scale",), True, True)
    assert "programs.py:" in scale.where[0]
    assert (batch.kind, batch.batch_size, batch.python) == ("BatchDataset", 4, False)
    assert (both.functions, both.python, both.workers_source) == (("Rescale", "HWC2CHW"), False, "default")
    assert both.workers == mindspore.dataset.config.get_num_parallel_workers()


@pytest.mark.parametrize("kind", ["lambda", "python op", "compose", "callable"])
def test_python_is_told_from_cpp(mindspore: Any, kind: str) -> None:
    from mindspore.dataset import transforms, vision

    class Callable:
        def __call__(self, image: Any) -> Any:
            return image

    operations = {
        "lambda": (lambda image: image, True),
        "python op": (vision.ToPIL(), True),
        "compose": (transforms.Compose([vision.Rescale(1.0, 0.0), vision.HWC2CHW()]), False),
        "callable": (Callable(), True),
    }
    operation, python = operations[kind]
    data = programs.pipeline().map(operation, "image")
    assert dataset.walk(data)[-1].python is python


def test_files_and_folders_are_found(mindspore: Any, tmp_path: Path) -> None:
    from mindspore.dataset import ImageFolderDataset

    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.jpg").write_bytes(b"x")
    folder = dataset.walk(ImageFolderDataset(str(tmp_path)))[0]
    assert (folder.source, folder.paths) == ("image folder", (str(tmp_path),))
    assert dataset.walk(programs.pipeline(OnDisk(tmp_path)))[0].paths == (str(tmp_path),)


def test_something_else_is_no_pipeline(mindspore: Any) -> None:
    with pytest.raises(Unknown, match="a list is no"):
        dataset.walk([1])


def test_enough_workers_everywhere(mindspore: Any, judge: Any) -> None:
    seen = iterate(programs.pipeline(workers=2))
    assert judge("min_workers", seen, 2).verdict.value == "pass"
    finding = judge("min_workers", seen, 3)
    assert finding.verdict.value == "fail"
    assert "MapDataset (scale) has 2" in finding.found
    assert "num_parallel_workers=3" in finding.fix


def test_the_sum_must_fit_the_usable_cores(mindspore: Any, judge: Any) -> None:
    finding = judge("min_workers", iterate(programs.pipeline(workers=2)), 2, cores=4)
    assert finding.verdict.value == "fail"
    assert "6 workers in sum for 4 usable cores" in finding.found


def test_workers_of_a_generator_function_do_not_act(mindspore: Any, judge: Any) -> None:
    finding = judge("min_workers", iterate(programs.pipeline(programs.rows_one_by_one, workers=2)), 2)
    assert finding.verdict.value == "fail"
    assert "GeneratorDataset (rows_one_by_one) has 1" in finding.found
    assert "one thread" in finding.cause
    assert "__getitem__" in finding.fix


def test_the_dataset_that_trains_is_judged_not_the_one_that_was_looked_at(mindspore: Any, judge: Any) -> None:
    with observing() as seen:
        next(programs.pipeline(workers=1).create_dict_iterator())
        programs.model(metrics={"accuracy"}).fit(1, programs.pipeline(workers=2), programs.pipeline(workers=1))
    assert judge("min_workers", seen, 2).verdict.value == "pass"


def test_a_dataset_that_is_only_handed_over_counts(mindspore: Any, judge: Any) -> None:
    with observing() as seen:
        note(programs.pipeline(workers=2))
        note([1, 2])
    assert judge("min_workers", seen, 2).verdict.value == "pass"


def test_no_dataset_is_a_failure(mindspore: Any, judge: Any) -> None:
    with observing() as seen:
        programs.pipeline()
    assert "no dataset was seen in test_it" in judge("min_workers", seen, 1).found


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), ("8", TypeError)])
def test_a_number_of_workers_that_makes_no_sense(n: Any, error: type[Exception]) -> None:
    from pytest_ascendenv import checks

    with pytest.raises(error, match="n is"):
        checks.load("min_workers").parse(n)
