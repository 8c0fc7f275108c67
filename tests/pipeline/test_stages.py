"""The slow operation: the rule on made-up profiles, and planted ones in real pipelines."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from pytest_ascendenv.pipeline import measure, profile, stages
from pytest_ascendenv.pipeline.advice import advice_on, advise, allowed, knee, steps
from pytest_ascendenv.pipeline.cause import Load
from pytest_ascendenv.pipeline.decision import Rule
from pytest_ascendenv.pipeline.loop import Trace
from pytest_ascendenv.pipeline.profile import Op
from pytest_ascendenv.pipeline.remedy import remedy
from pytest_ascendenv.pipeline.result import of_trace
from pytest_ascendenv.pipeline.stages import CONSUMER, Stage, slowest
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.probes.memory import SharedMemory
from pytest_ascendenv.training.dataset import Operation

np = pytest.importorskip("numpy", reason="numpy comes with MindSpore, which is not installed")

BATCH, MAP, SOURCE = 0, 1, 2


def chain(*figures):
    """Batch, map, source with (fill, cpu[, workers])."""
    kinds = ["BatchOp", "MapOp", "GeneratorOp"]
    return [
        Op(number, kind, (number + 1,) if number < 2 else (), (*rest, 1)[0], fill, cpu)
        for number, (kind, (fill, cpu, *rest)) in enumerate(zip(kinds, figures, strict=True))
    ]


@pytest.mark.parametrize(
    ("figures", "slow"),
    [
        (((0.0, 0.02), (0.0, 0.02), (0.0, 0.05)), SOURCE),
        (((0.0, 0.02), (0.0, 0.04), (1.0, 0.05)), MAP),
        (((0.0, 0.05), (0.95, 0.3), (0.99, 0.3)), BATCH),
        (((0.01, 0.95), (0.1, 0.2), (0.1, 0.1)), BATCH),  # a per_batch_map starves the Python before it of the lock
        (((0.99, 0.1), (1.0, 0.2), (1.0, 0.2)), CONSUMER),
        (((0.0, 0.1), (0.0, 0.8), (1.0, 0.7)), MAP),
    ],
    ids=["source", "map", "batch", "per_batch_map", "consumer", "two busy ones"],
)
def test_the_rule_names_the_slow_operation(figures, slow):
    assert slowest(chain(*figures)) == slow


def test_threads_of_python_code_have_one_core_together():
    ops = chain((0.0, 0.45, 2), (0.3, 0.1), (0.4, 0.1))
    assert slowest(ops, locked={BATCH}) == BATCH
    assert slowest(ops) == SOURCE


def test_the_largest_user_of_a_lock_that_is_always_held_is_slow():
    ops = chain((0.0, 0.29, 2), (0.0, 0.26), (0.98, 0.09))
    assert slowest(ops, locked={BATCH, MAP, SOURCE}) == BATCH
    assert slowest(ops, locked={MAP}) == MAP  # the queues: here nobody is kept waiting by a lock
    light = chain((0.0, 0.12, 2), (0.0, 0.2), (0.98, 0.09))
    assert slowest(light, locked={BATCH, MAP, SOURCE}) == MAP


def test_an_operation_without_a_queue_passes_its_input_on():
    zipped = [
        Op(0, "BatchOp", (1,), 1, 0.0, 0.1),
        Op(1, "ZipOp", (2, 3), 1, None, 0.0),
        Op(2, "GeneratorOp", (), 1, 0.05, 0.1),
        Op(3, "GeneratorOp", (), 1, 1.0, 0.1),
    ]
    assert slowest(zipped) == 2


class Rows:
    def __init__(self, work=None):
        self.work = work

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        return (self.work(np.zeros((8, 8, 3), np.uint8)) if self.work else np.zeros((8, 8, 3), np.uint8),)


def nap(x):
    time.sleep(0.004)
    return x


def spin(x):
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        pass
    return x


def light(x):
    return x


def heavy_batch(x, info):
    for _ in range(8):
        spin(x)
    return (x,)


def pipeline(ds, source=None, map_function=light, workers=1, **batch):
    d = ds.GeneratorDataset(Rows(source), ["x"], shuffle=False, num_parallel_workers=1)
    d = d.map(map_function, ["x"], num_parallel_workers=workers).map(light, ["x"], num_parallel_workers=1)
    return d.batch(8, **batch).repeat(2)


@pytest.mark.parametrize(
    ("plant", "title"),
    [
        ({"source": nap}, "GeneratorDataset (Rows)"),
        ({"map_function": nap}, "MapDataset (nap)"),
        ({"map_function": spin, "workers": 2}, "MapDataset (spin)"),
        ({"per_batch_map": heavy_batch}, "BatchDataset (heavy_batch)"),
    ],
    ids=["source", "sleeping function", "computing function", "per_batch_map"],
)
def test_a_planted_slow_operation_is_found(ds, plant, title):
    stage = stages.find(pipeline(ds, **plant))
    assert stage.operation.title == title
    assert stage.method == "profile"
    assert len(stage.figures) == 4
    assert title in stage.table()


def test_the_users_function_is_named_with_its_place(ds):
    stage = stages.find(pipeline(ds, map_function=nap))
    assert "test_stages.py:" in stage.title


@pytest.mark.parametrize(
    "work", [lambda batch: time.sleep(0.02), lambda batch: [spin(None) for _ in range(5)]], ids=["waits", "computes"]
)
def test_a_slow_reader_is_not_blamed_on_the_pipeline(ds, work):
    """One that computes holds the interpreter's lock, so that the Python operations look slow and the queues empty."""
    stage = stages.find(pipeline(ds), reader=work)
    assert stage.place == CONSUMER
    assert stage.title == "the reader of the pipeline"


def test_without_a_profile_the_sub_trees_tell(ds, monkeypatch):
    def unavailable(dataset, reader):
        raise profile.Unavailable("no manager")

    monkeypatch.setattr(profile, "take", unavailable)
    stage = stages.find(pipeline(ds, map_function=nap), lambda tree: measure(tree, duration=0.4).rate)
    assert stage.operation.title == "MapDataset (nap)"
    assert stage.method == "sub-trees"
    assert "samples/s" in stage.table()


def test_a_failed_measurement_says_which_operation_is_slow(ds):
    result = measure(pipeline(ds, map_function=nap), floor=10_000)
    assert result.answer == "below"
    assert result.stage.operation.title == "MapDataset (nap)"
    assert "waits" in result.remedy.reason
    assert measure(pipeline(ds, map_function=nap), floor=10_000, explain=False).stage is None


PYTHON = Operation("MapDataset", 1, "own", True, ("augment",), where=("data.py:7",))
CPP = Operation("MapDataset", 1, "own", False, ("Resize",))


@pytest.mark.parametrize(
    ("operation", "cpu", "reason", "fix"),
    [
        (PYTHON, 0.95, "holds the interpreter's lock", "python_multiprocessing=True with num_parallel_workers=4"),
        (replace(PYTHON, workers=4), 0.24, "its 4 threads share one core", "python_multiprocessing=True"),
        (PYTHON, 0.05, "waits", "num_parallel_workers=4 instead of 1"),
        (replace(PYTHON, workers=4), 0.01, "workers wait", "faster storage"),
        (replace(PYTHON, multiprocessing=True), 0.9, "compute all the time", "num_parallel_workers=4 instead of 1"),
        (replace(PYTHON, multiprocessing=True), 0.1, "hardly compute", "python_multiprocessing=False"),
        (CPP, 0.9, "C++ workers compute", "num_parallel_workers=4 instead of 1"),
        (replace(CPP, workers=4), 0.9, "4 of them on 4 CPUs", "more cores"),
        (Operation("GeneratorDataset", 1, "own", True, ("rows",), idle="one thread", source="generator function"), 0.9,
         "one thread", "__getitem__ and __len__"),
        (Operation("ImageFolderDataset", 4, "own", False, source="image folder"), 0.5, "one small file a row",
         "MindRecord"),
        (Operation("ShuffleDataset", 1, "default", False, parallel=False), 0.9, "no workers", "shuffle before batch"),
    ],
)  # fmt: skip
def test_the_remedy_fits_the_operation(operation, cpu, reason, fix):
    found = remedy(Stage(0, operation, cpu, "profile"), 4)
    assert reason in found.reason
    assert fix in found.fix


def random_crop(image):
    return image


def mix_up(image):
    return image


def other(image):
    return image


def mapped(ds, function):
    """The operation of a map with this function."""
    return stages.operations_of(ds.GeneratorDataset(Rows(None), ["x"]).map(function, ["x"]))[0]


def test_a_python_function_of_the_name_of_a_c_operation_is_pointed_at_it(ds):
    from mindspore.dataset import vision  # noqa: F401 -- its names are known once it is loaded

    told = remedy(Stage(0, mapped(ds, [other, random_crop]), 0.9, "profile"), 4)
    assert told.reason.startswith("random_crop runs as Python")
    assert "use mindspore.dataset.vision.RandomCrop" in told.fix


def test_a_python_function_of_the_name_of_a_python_operation_is_not(ds):
    from mindspore.dataset import vision

    assert vision.MixUp  # of Python itself
    assert "MixUp" not in remedy(Stage(0, mapped(ds, mix_up), 0.9, "profile"), 4).fix


def test_threads_that_share_the_lock_do_not_wait_for_storage():
    waits = Load(1.6, (0, 1, 2, 3), 4, own=1.6, busy=1.65, waited=0.02, active=4, ran=0.4)
    found = replace(of_trace(Trace(((8, 0.1),) * 9, 0.1, 8, 10, 80), Rule(), waits, method=""), stage=None)
    assert found.cause.kind == "WAITS"
    assert "a lock (Python lets one thread compute" in found.cause.text
    locked = replace(found, stage=Stage(0, replace(PYTHON, workers=4), 0.24, "profile"))
    assert locked.cause.kind == "CPU-BOUND"
    assert "share a lock" in locked.cause.text
    assert replace(found, stage=Stage(0, replace(CPP, workers=4), 0.24, "profile")).cause.kind == "WAITS"


def test_the_knee_is_the_least_number_with_nearly_the_best_rate():
    assert knee({1: 861, 2: 1452, 4: 1550}) == 4
    assert knee({1: 861, 2: 1452, 4: 1460}) == 2
    assert knee({1: 1938, 2: 1882}) == 1
    assert knee({}) is None


def test_workers_are_doubled_up_to_the_limit():
    assert steps(1) == [1]
    assert steps(6) == [1, 2, 4, 6]
    assert steps(8) == [1, 2, 4, 8]


def test_memory_limits_processes_but_not_threads(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 100 kB\n")
    assert allowed(64, 16, None, Host(tmp_path))[1] == "the usable CPUs"
    assert allowed(64, 16, 1, Host(tmp_path)) == (1, "free memory")


def test_a_sweep_shows_what_more_workers_give_and_leaves_the_users_tree(ds):
    dataset = pipeline(ds, map_function=nap)
    before = [node.num_parallel_workers for node in stages.tree.walk(dataset)]
    advice = advise(dataset, floor=350, seconds=0.6)
    assert advice.operation.startswith("MapDataset (nap)")
    assert list(advice.rates)[:1] == [1]
    assert [node.num_parallel_workers for node in stages.tree.walk(dataset)] == before
    if 2 in advice.rates:
        assert advice.rates[2] > 1.4 * advice.rates[1]
        assert advice.knee == max(advice.rates)
        assert f"knee at {advice.knee} workers (it has 1)" in str(advice)


def test_a_generator_function_is_told_that_workers_do_not_help(ds):
    def rows():
        while True:
            yield (nap(np.zeros(3)),)

    advice = advise(ds.GeneratorDataset(rows, ["x"]).batch(4))
    assert advice.rates == {}
    assert "one thread" in advice.reason


def test_a_loader_is_swept_by_its_num_workers(ds):
    loader = pytest.importorskip("mindspore.dataset.dataloader", reason="new in MindSpore 2.9")
    given = loader.DataLoader([nap(np.zeros(2, np.float32)) for _ in range(10)] * 1000, batch_size=8)
    advice = advise(given, seconds=0.3)
    assert list(advice.rates)[:2] == [0, 1]
    assert given.num_workers == 0


class Loader:
    """As torch's: batches of a megabyte."""

    batch_size, num_workers, prefetch_factor = 8, 0, None

    def __iter__(self):
        for _ in range(1000):
            yield {"image": np.zeros((8, 1 << 17), np.uint8), "label": [np.zeros(8)]}


def test_a_loader_is_swept_as_far_as_shared_memory_goes(monkeypatch):
    five = SharedMemory("tmpfs", 1 << 26, 5 << 20, True, "statvfs /dev/shm")  # a worker's batches of 1 MB take 4
    monkeypatch.setattr("pytest_ascendenv.pipeline.advice.shared_memory", lambda host: five)
    found = advise(Loader(), seconds=0.2)
    assert list(found.rates) == [0, 1]


def test_what_has_no_workers_gets_no_advice():
    with pytest.raises(TypeError, match="no workers to advise on"):
        advise(range(10))
    assert advice_on(range(10)).startswith("no advice on workers: range has no workers")


def test_an_iterator_and_a_function_are_advised_on_like_the_dataset(ds):
    dataset = pipeline(ds, map_function=nap)
    for given in (dataset.create_tuple_iterator(), lambda: dataset):
        assert "MapDataset (nap)" in advice_on(given, seconds=0.2)
