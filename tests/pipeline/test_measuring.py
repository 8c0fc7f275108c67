"""Measuring real pipelines in a child: the figures, the ends of data, the failures, and what is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pytest_ascendenv.pipeline import (
    NothingMeasured,
    NotMeasured,
    PipelineError,
    Stalled,
    leftovers,
    measure,
    processes,
)


def ticking(seconds=0.002, items=10**9):
    for number in range(items):
        time.sleep(seconds)
        yield number


class Rows:
    def __init__(self, rows=10**6):
        import numpy  # comes with MindSpore: most tests here do without

        self.rows, self.numpy = rows, numpy

    def __len__(self):
        return self.rows

    def __getitem__(self, index):
        return (self.numpy.full((4, 4), index % 100, self.numpy.uint8),)


def rows(ds, number=10**6, **options):
    return ds.GeneratorDataset(Rows(number), ["x"], shuffle=False, **options)


def sleepy(x):
    time.sleep(0.002)
    return x


def stuck(x):
    if x.flat[0] == 9:
        time.sleep(1000)
    return x


def broken(x):
    if x.flat[0] == 9:
        raise ValueError("row 9 is bad")
    return x


@pytest.fixture
def traces():
    """Nothing new is left behind: no child, no System V identifier whose users are dead, no unused file in /dev/shm.

    What other runs on this host have in use does not count.
    """

    def dead(kind):
        rows = [(row, {row[user] for user in leftovers.USERS[kind]} - {0}) for row in leftovers.rows(kind)]
        gone = [row for row, users in rows if users and not any(Path(f"/proc/{user}").exists() for user in users)]
        return {row[leftovers.IDENTIFIER[kind]] for row in gone}

    def unused():
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return set(os.listdir("/dev/shm")) - leftovers.mapped(pids)

    before = dead("shm"), dead("msg"), unused(), set(processes.children(os.getpid()))
    yield
    after = dead("shm"), dead("msg"), unused(), set(processes.children(os.getpid()))
    assert [sorted(new - old) for old, new in zip(before, after, strict=True)] == [[], [], [], []]


def test_a_sleep_bound_generator_has_its_own_rate(traces):
    result = measure(ticking(0.01), duration=0.5)
    assert 20 < result.rate <= 100
    assert result.rate == result.samples / result.seconds
    assert result.seconds >= 0.5
    assert result.slowest <= result.p5 <= result.median
    assert result.interval[0] < result.rate < result.interval[1]
    assert result.first_batch >= 0.01
    assert str(result) == f"{result.rate:.1f} samples/s ({result.samples} samples in {result.seconds:.2f} s)"


def test_the_batch_size_scales_the_rate():
    assert measure(ticking(0.01), batch_size=32, duration=0.3) > 32 * 20


def test_results_compare_with_numbers_and_one_another():
    slow, fast = measure(ticking(0.02), duration=0.3), measure(range(10**9), duration=0.1)
    assert slow < fast
    assert slow >= 1
    assert not slow > 50.5
    with pytest.raises(TypeError, match="numbers"):
        assert slow < "fast"


def test_all_figures_are_plain_floats(ds):
    result = measure(rows(ds).batch(8), count=lambda item: Rows().numpy.int64(8), duration=0.5)
    values = [value for value in result.figures().values() if not isinstance(value, str)]
    assert {type(value) for value in values} <= {float, int}
    assert {type(value) for window in result.windows for value in window} <= {float, int}


def test_a_dataset_is_measured_by_an_iterator_of_its_own(ds, traces):
    dataset = rows(ds).map(sleepy, ["x"], num_parallel_workers=1).batch(4)
    mine = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    first = next(mine)
    result = measure(dataset, duration=0.5)
    assert 50 < result.rate <= 500
    assert next(mine)[0][0].flat[0] == first[0][0].flat[0] + 4  # nobody read from the user's
    mine.stop()


def test_a_started_iterator_stands_for_its_dataset(ds):
    iterator = rows(ds).map(sleepy, ["x"], num_parallel_workers=1).batch(4).create_tuple_iterator(num_epochs=1)
    assert measure(iterator, duration=0.3) <= 500
    iterator.stop()


def test_a_generator_over_a_started_iterator_is_read_in_this_process(ds):
    iterator = rows(ds).map(sleepy, ["x"], num_parallel_workers=1).batch(4).create_tuple_iterator(num_epochs=1)
    result = measure((item for item in iterator), batch_size=4, duration=0.3)
    assert result.method == "in process"
    assert result <= 700
    iterator.stop()


def test_data_shorter_than_the_warm_up_are_read_over_as_many_epochs_as_it_takes(ds, traces):
    dataset = rows(ds, 12).map(sleepy, ["x"], num_parallel_workers=1).batch(4)
    result = measure(dataset, duration=0.5)
    assert not result.short
    assert result.seconds >= 0.5
    assert 50 < result.rate <= 500


def test_a_list_shorter_than_the_warm_up_is_read_again():
    class Twelve:
        def __iter__(self):
            return ticking(0.01, 12)

    result = measure(Twelve(), duration=0.5)
    assert result.samples > 12
    assert result.rate <= 100


def test_a_function_that_returns_a_generator_is_called_for_every_pass():
    result = measure(lambda: ticking(0.01, 12), duration=0.5)
    assert result.samples > 12
    assert result.rate <= 100


def test_a_function_that_returns_a_dataset_is_counted_and_explained_like_it(ds):
    def create():
        return rows(ds, 4096, num_parallel_workers=1).map(sleepy, ["x"], num_parallel_workers=1).batch(8)

    result = measure(create, floor=1e5)
    assert result.counted == measure(create(), duration=0.2).counted
    assert result.samples % 8 == 0
    assert result.stage.operation.kind == "MapDataset"


def test_what_holds_a_started_iterator_is_read_where_its_threads_run(ds):
    class Loader:
        def __init__(self, dataset):
            self.iterator = dataset.create_tuple_iterator(num_epochs=1)

        def __iter__(self):
            yield from self.iterator

    result = measure(Loader(rows(ds, 64).batch(8)), first_limit=20)
    assert (result.method, result.batches) == ("in process", 8)


def test_a_one_shot_generator_shorter_than_the_warm_up_gives_what_there_was():
    result = measure(ticking(0.005, 20), floor=10)
    assert result.short
    assert result.samples == 19  # the first one carries the start-up
    assert result.rate <= 200
    assert "ended within the warm-up" in result.notes[0]


def test_a_single_batch_pays_for_the_start_up():
    result = measure(ticking(0.05, 1), batch_size=10)
    assert result.samples == 10
    assert result.rate <= 200
    assert "only one batch" in result.notes[0]
    assert result.answer == "above"
    assert measure(ticking(0.05, 1), batch_size=10, floor=50).answer == "unclear"


@pytest.mark.parametrize("source", [[], iter(()), lambda: iter(())], ids=["list", "iterator", "function"])
def test_nothing_to_read_is_not_a_rate(source):
    with pytest.raises(NothingMeasured, match="no item"):
        measure(source)


def test_a_dataset_without_a_batch_is_not_a_rate(ds):
    with pytest.raises(NothingMeasured, match="drop_remainder"):
        measure(rows(ds, 5).batch(8, drop_remainder=True))


def test_items_without_samples_are_not_a_rate():
    with pytest.raises(NothingMeasured, match="no sample"):
        measure(ticking(0.001), count=lambda item: 0, duration=0.1)


def test_a_clear_verdict_ends_the_measurement_early():
    assert measure(ticking(0.01), floor=1).answer == "above"
    result = measure(ticking(0.01), floor=1000)
    assert result.answer == "below"
    assert result.seconds < 5


def test_one_near_the_floor_is_not_decided():
    near = measure(ticking(0.01), duration=0.5).rate
    assert measure(ticking(0.01), floor=near, max_time=1.0).answer == "unclear"


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_an_exception_of_the_pipeline_is_the_users_own_line(ds, traces, processes):
    dataset = rows(ds).map(broken, ["x"], python_multiprocessing=processes, num_parallel_workers=2).batch(4)
    with pytest.raises(PipelineError, match=r"ValueError: row 9 is bad \(test_measuring.py:\d+ in broken\)"):
        measure(dataset)


def test_an_exception_of_a_generator_is_the_users_own_line(traces):
    def lost():
        yield 1
        raise KeyError("lost")

    with pytest.raises(
        PipelineError, match=r"KeyError: 'lost' \(test_measuring.py:\d+ in lost\), after 1 batches"
    ) as error:
        measure(lost())
    assert 'raise KeyError("lost")' in error.value.raised.traceback
    assert "pytest_ascendenv" not in error.value.raised.traceback  # the frames that only read it


def test_a_pipeline_that_exits_ends_only_its_measurement(traces):
    def leaving():
        yield 1
        raise SystemExit(3)

    with pytest.raises(PipelineError, match="SystemExit: 3"):
        measure(leaving())


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_a_hung_pipeline_is_named_and_ended(ds, traces, processes):
    dataset = rows(ds).map(stuck, ["x"], python_multiprocessing=processes, num_parallel_workers=2).batch(2)
    with pytest.raises(
        Stalled, match=r"no batch for [\d.]+ s after \d+ batches.*test_measuring.py:\d+ in stuck"
    ) as caught:
        measure(dataset, stall_limit=1)
    assert "in stuck" in caught.value.stacks
    assert measure(rows(ds).batch(2), duration=0.1) > 0  # the next one works


def test_a_pipeline_without_a_first_batch_is_named():
    def never():
        time.sleep(1000)
        yield

    with pytest.raises(Stalled, match=r"no first batch in 0.5 s; it stands at test_measuring.py:\d+ in never"):
        measure(never(), first_limit=0.5)


def test_a_killed_child_is_told_apart_from_a_slow_pipeline(traces):
    def dying():
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)
        yield 2

    with pytest.raises(NotMeasured, match="killed by SIGKILL"):
        measure(dying())


def test_workers_that_left_their_parent_are_ended_too(traces, tmp_path):
    def forking():
        if os.fork() == 0:
            if os.fork() == 0:
                (tmp_path / "pid").write_text(str(os.getpid()))
                time.sleep(1000)
            os._exit(0)
        yield from ticking(0.01)

    measure(forking(), duration=0.3)
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()  # dead, whoever reaps it


def test_shared_memory_of_a_killed_worker_is_removed(traces):
    from multiprocessing.shared_memory import SharedMemory

    def sharing():
        block = SharedMemory(create=True, size=4096)
        yield block.name
        time.sleep(1000)

    with pytest.raises(Stalled):
        measure(sharing(), stall_limit=0.5)


@pytest.fixture
def interruptible():
    """As on a terminal: a job in the background of a shell is started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_of_the_parent_ends_the_child(traces, interruptible):
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        measure(ticking(0.01), duration=60)


def test_what_the_pipeline_prints_is_printed_once(capfd):
    def talking():
        print("from the pipeline")
        yield from ticking(0.001, 5)

    print("before", end="")
    measure(talking())
    out = capfd.readouterr().out
    assert out.count("before") == 1
    assert out.count("from the pipeline") == 1


def test_in_this_process_the_answers_are_the_same():
    def lost():
        yield 1
        raise KeyError("lost")

    result = measure(ticking(0.01), isolate=False, duration=0.3)
    assert 20 < result.rate <= 100
    assert result.method == "in process"
    with pytest.raises(PipelineError, match=r"KeyError: 'lost' \(test_measuring.py:\d+ in lost\)"):
        measure(lost(), isolate=False)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"duration": 0}, "duration is 0"),
        ({"duration": True}, "duration is True"),
        ({"floor": -1}, "floor is -1"),
        ({"warmup": -0.1}, "warmup is -0.1"),
        ({"count": 3}, "count is 3"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(options, text):
    with pytest.raises((TypeError, ValueError), match=text):
        measure(ticking(), **options)


@pytest.mark.parametrize("source", [7, None, object()])
def test_what_cannot_be_read_is_refused(source):
    with pytest.raises(TypeError, match="cannot be iterated"):
        measure(source)


def test_data_of_a_single_item_end():
    result = measure([1], floor=1)
    assert result >= 1
    assert "each pass over the data holds one item" in result.notes[0]


def test_loader_of_a_single_batch_ends():
    class Loader:
        batch_size = 4

        def __iter__(self):
            time.sleep(0.02)
            yield [[0] * 4]

    result = measure(Loader(), floor=10_000)
    assert result.answer == "below"
    assert 50 < result.rate < 250
