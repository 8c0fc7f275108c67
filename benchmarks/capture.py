"""What watching a program costs, each figure against the same program unwatched in the same run.

    python benchmarks/capture.py capture --runs 10     time to the verdict minus the program's own to its training call
    python benchmarks/capture.py observe --runs 10     a hand-written loop in PyNative inside observing(), per step

The program's own time is that of a Python which leaves at once when ``Model.train`` is called.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent.parent
sys.path.insert(0, str(HERE))

from pytest_ascendenv.training.capture import capture  # noqa: E402
from pytest_ascendenv.training.observe import observing  # noqa: E402

PROGRAMS = HERE / "tests" / "training" / "captured"
LEAVES = """
import importlib.abc, importlib.util, os, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "mindspore":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            module.train.Model.train = lambda *args, **kwargs: os._exit(0)
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Finder())
"""


def of_capture(runs: int, program: str) -> None:
    capture(program, folder=PROGRAMS)  # warms the caches of files
    own, watched = [], []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(LEAVES)
        for _ in range(runs):
            own.append(_seconds(lambda: _plain(program, folder)))
            watched.append(_seconds(lambda: capture(program, folder=PROGRAMS)))
    extra = [after - before for before, after in zip(own, watched, strict=True)]
    print(f"{program}: own {median(own):.2f} s, captured {median(watched):.2f} s, {runs} pairs")
    print(f"cost: median {median(extra):+.3f} s, worst {max(extra):+.3f} s")
    print(f"mindspore imported in the parent: {'mindspore' in sys.modules}")


def _plain(program: str, folder: str) -> None:
    environ = {**os.environ, "PYTHONPATH": folder}
    subprocess.run([sys.executable, *program.split()], cwd=PROGRAMS, env=environ, check=True, capture_output=True)


def of_observe(runs: int, steps: int) -> None:
    step = _step()
    for _ in range(steps):
        step()
    plain, watched, around = [], [], []
    for _ in range(runs):
        plain.append(_seconds(lambda: [step() for _ in range(steps)]) / steps)
        with observing() as seen:
            watched.append(_seconds(lambda: [step() for _ in range(steps)]) / steps)
        around.append(_seconds(_nothing))
        assert len(seen.calls) == 1
    print(f"a step: {1e3 * median(plain):.3f} ms, watched {1e3 * median(watched):.3f} ms, {runs} rounds of {steps}")
    print(f"entering and leaving: {1e3 * median(around):.2f} ms")


def _step() -> Any:
    sys.path.insert(0, str(PROGRAMS))
    import mindspore as ms
    import numpy as np
    import parts

    network, loss = parts.net(), parts.loss()
    optimizer = parts.momentum(network)
    gradient = ms.value_and_grad(lambda x, y: loss(network(x), y), None, optimizer.parameters)
    image, label = ms.Tensor(np.ones((8, 1, 8, 8), np.float32)), ms.Tensor(np.zeros(8, np.int32))

    def step() -> None:
        optimizer(gradient(image, label)[1])

    return step


def _nothing() -> None:
    with observing():
        pass


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=("capture", "observe"))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--program", default="defaults.py")
    given = parser.parse_args()
    if given.figure == "capture":
        of_capture(given.runs, given.program)
    else:
        of_observe(given.runs, given.steps)


if __name__ == "__main__":
    main()
