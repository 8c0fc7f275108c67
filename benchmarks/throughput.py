"""Figures of the throughput measurement, each against its rival in the same run.

    python benchmarks/throughput.py verdict --runs 64     time to verdict, share of wrong and inconclusive ones
    python benchmarks/throughput.py rate --runs 10        measured rate over the rate of a raw loop
    python benchmarks/throughput.py cause --runs 20       planted causes that are named right
    python benchmarks/throughput.py stage --runs 10       planted slow operations that are named right

Wants a quiet machine: ``cause`` leaves out trials in which others had more than 5% of the cores before it began. The
rivals of ``verdict`` are a fixed loop of 5 s and, where it is installed, pytest-benchmark.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import mindspore.dataset as ds
import numpy as np
from mindspore.dataset import vision

from pytest_ascendenv.pipeline import load, measure, stages
from pytest_ascendenv.pipeline.counting import counter
from pytest_ascendenv.pipeline.sources import close, source_of

FACTORS = (0.5, 0.8, 0.95, 1.05, 1.25, 2.0)


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Images:
    """Random access to images that are made, decoded (JPEG bytes) or waited for."""

    def __init__(self, kind: str = "array", seconds: float = 0.0, wait: float = 0.0) -> None:
        self.seconds, self.wait = seconds, wait
        self.rows = [np.random.default_rng(k).integers(0, 255, (96, 96, 3), np.uint8) for k in range(16)]
        if kind == "jpeg":
            self.rows = [np.frombuffer(_jpeg(row), np.uint8) for row in self.rows]

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if self.wait:
            time.sleep(self.wait)
        if self.seconds:
            spin(self.seconds)
        return self.rows[index % 16], np.array([index % 10], np.int32)


def _jpeg(row: np.ndarray) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(row).save(out, "JPEG")
    return out.getvalue()


def mirrored(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image[:, ::-1]).astype(np.float32) / 255


def items(period: float) -> Iterator[int]:
    number = 0
    while True:
        spin(period)
        yield number
        number += 1


def source(**options: Any) -> Any:
    return ds.GeneratorDataset(Images(**options), ["image", "label"], shuffle=False)


PIPELINES: dict[str, Callable[[], Any]] = {
    "source": lambda: source().map([vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()], ["image"]).batch(32),
    "jpeg": lambda: source(kind="jpeg").map([vision.Decode(), vision.Resize((64, 64))], ["image"]).batch(32),
    "processes": lambda: (
        source().map(mirrored, ["image"], num_parallel_workers=2, python_multiprocessing=True).batch(32)
    ),
    "arrays": lambda: ds.NumpySlicesDataset(np.zeros((20000, 512), np.float32), ["x"]).batch(64),
    "iterable": lambda: lambda: items(100e-6),
    "waiting": lambda: source(wait=0.003).batch(8),
}


def loop(given: Any, seconds: float) -> float:
    """What a user writes: samples of a plain loop over its time, the first batch left out."""
    opened, rows = source_of(given), counter(given).rows
    iterator = (opened.again or opened.open)()  # over as many epochs as it takes
    next(iterator)
    begun, samples = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        samples += sum(rows(item) for item in islice(iterator, 8))
    rate = samples / (time.perf_counter() - begun)
    close(iterator)
    return rate


def pytest_benchmark(name: str) -> tuple[float, float]:
    """Samples/s of pytest-benchmark over 50 batches, and its seconds; 0 where it is not installed."""
    test = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import throughput as t\nfrom pytest_ascendenv.pipeline.counting import counter\n"
        f"def test_rate(benchmark):\n    given = t.PIPELINES[{name!r}](); rows = counter(given).rows\n"
        "    def consume():\n        it = t.source_of(given).open(); n = sum(rows(i) for i in t.islice(it, 50))\n"
        "        t.close(it); return n\n"
        "    benchmark.extra_info['samples'] = benchmark(consume)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_rate.py").write_text(test)
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:ascendenv", "--benchmark-json=out.json", "test_rate.py"]
        subprocess.run(argv, cwd=folder, capture_output=True, timeout=120)
        out = Path(folder, "out.json")
        if not out.exists():
            return 0.0, 0.0
        seen = json.loads(out.read_text())["benchmarks"][0]
    return seen["extra_info"]["samples"] / seen["stats"]["mean"], seen["stats"]["total"]


def verdict(runs: int, names: list[str], factors: tuple[float, ...] = FACTORS, rivals: bool = True) -> None:
    """Every trial's truth is the mean of a 2 s loop before and one after it: the machine drifts."""
    tally: dict[tuple[str, float], list[tuple[str, float]]] = {}
    for _ in range(runs):
        for name in names:
            given = PIPELINES[name]()
            rival = loop(given, 5.0) if rivals else 0.0
            other, took = pytest_benchmark(name) if rivals else (0.0, 0.0)
            true = loop(given, 2.0)
            for factor in factors:
                begun = time.perf_counter()
                result = measure(given, floor=factor * true, explain=False)
                seconds = time.perf_counter() - begun
                after = loop(given, 2.0)
                now = fmean((true, after))
                wanted = "above" if now >= factor * true else "below"
                for who in ("ours", f"ours, {name}"):
                    note(tally, who, factor, result.answer, wanted, seconds)
                for who, rate, spent in (("5 s loop", rival, 5.0), ("pytest-benchmark", other, took)):
                    if rate:
                        note(tally, who, factor, "above" if rate >= factor * true else "below", wanted, spent)
                true = after
    print(f"{'':18}" + "".join(f"{factor:>20g}x" for factor in factors))
    for who in dict.fromkeys(who for who, _ in tally):
        print(f"{who:18}" + "".join(f"{summary(tally[who, factor]):>21}" for factor in factors))
    print("wrong/inconclusive of the trials, mean seconds")


def note(tally: dict[Any, Any], who: str, factor: float, answer: str, wanted: str, seconds: float) -> None:
    kind = "unclear" if answer == "unclear" else "right" if answer == wanted else "wrong"
    tally.setdefault((who, factor), []).append((kind, seconds))


def summary(trials: list[tuple[str, float]]) -> str:
    kinds = Counter(kind for kind, _ in trials)
    return f"{kinds['wrong']}/{kinds['unclear']} of {len(trials)} {fmean(s for _, s in trials):.2f} s"


def rate(runs: int, names: list[str]) -> None:
    """Alternating pairs of a raw loop without a clock and the measurement, on items of a fixed period."""
    for period in (64e-6, 200e-6, 1e-3, 10e-3):
        ratios = []
        for number in range(runs):
            pair = {}
            for who in ("raw", "ours") if number % 2 else ("ours", "raw"):
                if who == "ours":
                    pair[who] = measure(items(period), duration=1.0).rate
                else:
                    begun, many = time.perf_counter(), int(1.0 / period)
                    deque(islice(items(period), many), maxlen=0)
                    pair[who] = many / (time.perf_counter() - begun)
            ratios.append(pair["ours"] / pair["raw"])
        print(f"period {period * 1e6:6.0f} us: {median(ratios):.3f} [{min(ratios):.3f}-{max(ratios):.3f}]")


INTRUDER = "import os, time, random\nwhile os.getppid() == {parent}:\n    end = time.time() + {on}\n    while time.time() < end: pass\n    time.sleep({off})"  # noqa: E501


@contextmanager
def on_cores(cores: set[int], intruders: int = 0, on: str = "1", off: str = "0") -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    hogs = [
        subprocess.Popen([sys.executable, "-c", INTRUDER.format(parent=os.getpid(), on=on, off=off)])
        for _ in range(intruders)
    ]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
        os.sched_setaffinity(0, before)


BURST = {"on": "random.uniform(.2, 1.5)", "off": "random.uniform(.2, 1.5)"}
CAUSES: dict[str, tuple[str, str, bool, dict[str, Any]]] = {
    "quiet": ("jpeg", "CPU-BOUND", False, {}),
    "one thread": ("iterable", "CPU-BOUND", False, {}),
    "waiting": ("waiting", "WAITS", False, {}),
    "pinned": ("jpeg", "CROWDED", True, {}),
    "pinned with intruder": ("jpeg", "STARVED", True, {"intruders": 1}),
    "pinned with bursts": ("jpeg", "STARVED", True, {"intruders": 3, **BURST}),
    "waiting with intruder": ("waiting", "WAITS", True, {"intruders": 1}),
}


def cause(runs: int, names: list[str]) -> None:
    every = os.sched_getaffinity(0)
    found: dict[str, Counter[str]] = {name: Counter() for name in CAUSES}
    for _ in range(runs):
        for name, (which, _, pinned, options) in CAUSES.items():
            begun = load.moment()
            time.sleep(0.3)
            if (load.foreign(begun, load.moment()) or 0.0) > 0.05:
                found[name]["left out"] += 1
                continue
            with on_cores({min(every)} if pinned else every, **options):
                found[name][measure(PIPELINES[which](), duration=1.6).cause.kind] += 1
    for name, kinds in found.items():
        tried = sum(kinds.values()) - kinds["left out"]
        print(f"{name:22} {CAUSES[name][1]:9} {kinds[CAUSES[name][1]]} of {tried}  {dict(kinds)}")


def parsed(image: np.ndarray) -> np.ndarray:
    json.loads(json.dumps(list(range(6000))))
    return image


def fetched(image: np.ndarray) -> np.ndarray:
    time.sleep(0.004)
    return image


def sorted_batch(image: Any, label: Any, info: Any) -> Any:
    for _ in range(8):
        parsed(image)
    return image, label


def fetched_batch(image: Any, label: Any, info: Any) -> Any:
    time.sleep(0.05)
    return image, label


def tree(rows: Any = None, python: Any = mirrored, native: tuple[Any, ...] = (), each: Any = None) -> Any:
    built = (rows or source()).map(python, ["image"], num_parallel_workers=1)
    built = built.map([*native, vision.HWC2CHW()], ["image"], num_parallel_workers=1)
    return built.batch(16, per_batch_map=each)


LARGE = (vision.Resize((500, 500)), vision.RandomRotation(30), vision.Resize((64, 64)))
STAGES: dict[str, tuple[Callable[[], Any], str, Callable[[Any], object] | None]] = {
    "source, CPU": (lambda: tree(source(seconds=0.003)), "GeneratorDataset", None),
    "source, sleep": (lambda: tree(source(wait=0.003)), "GeneratorDataset", None),
    "Python op, CPU": (lambda: tree(python=parsed), "MapDataset (parsed", None),
    "Python op, sleep": (lambda: tree(python=fetched), "MapDataset (fetched", None),
    "C++ op": (lambda: tree(native=LARGE), "MapDataset (Resize", None),
    "per_batch_map, CPU": (lambda: tree(each=sorted_batch), "BatchDataset", None),
    "per_batch_map, sleep": (lambda: tree(each=fetched_batch), "BatchDataset", None),
    "consumer, CPU": (tree, "the reader", lambda batch: spin(0.05)),
    "consumer, sleep": (tree, "the reader", lambda batch: time.sleep(0.05)),
}


def stage(runs: int, names: list[str]) -> None:
    found: dict[str, Counter[str]] = {name: Counter() for name in STAGES}
    for _ in range(runs):
        for name, (build, _, reader) in STAGES.items():
            found[name][stages.find(build(), reader=reader).title] += 1
    right = {name: sum(n for t, n in c.items() if t.startswith(STAGES[name][1])) for name, c in found.items()}
    for name, titles in found.items():
        print(f"{name:22} {right[name]} of {runs}  {dict(titles)}")
    print(f"{sum(right.values())} of {runs * len(STAGES)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"verdict": verdict, "rate": rate, "cause": cause, "stage": stage}
    parser.add_argument("what", choices=commands)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pipelines", nargs="*", default=list(PIPELINES), choices=list(PIPELINES))
    parser.add_argument(
        "--factors", nargs="*", default=FACTORS, type=float, help="verdict: floors, times the true rate"
    )
    parser.add_argument("--no-rivals", action="store_true", help="verdict: ours alone")
    chosen = parser.parse_args()
    options = (tuple(chosen.factors), not chosen.no_rivals) if chosen.what == "verdict" else ()
    commands[chosen.what](chosen.runs, chosen.pipelines, *options)


if __name__ == "__main__":
    main()
