"""This project's write and read figures beside fio's and dd's, on the same file system in the same minutes.

    python benchmarks/storage.py [FOLDER] [--size MIB] [--rounds N]

The tools take turns in an order that changes from round to round, so that a disk that drifts drifts for all of them; a
figure is a median over the rounds. The goal is a ratio to fio of 0.95 to 1.05: fio with direct I/O, blocks of 1 MiB,
one at a time, without preallocation. dd refills its buffer from /dev/zero for every block, which costs it something.
Nothing is left in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pytest_ascendenv.probes import children

MIB = 1024 * 1024
Tool = Callable[[Path, int], float]


def ours(mode: str) -> Tool:
    def run(file: Path, size: int) -> float:
        order = {"mode": mode, "path": str(file.parent), "files": [str(file)], "runs": 1, "bytes": size, "seconds": 60}
        answer = children.ask("transfer", order, 120, f"{mode} of {file}")
        assert answer["method"] == "direct", f"{file.parent} has no direct I/O"
        return float(answer["rates"][0])

    return run


def fio(mode: str) -> Tool:
    def run(file: Path, size: int) -> float:
        target = file.with_suffix(".fio") if mode == "write" else file
        words = ["fio", "--name=x", f"--filename={target}", f"--rw={mode}", f"--size={size}", "--bs=1M", "--direct=1"]
        words += ["--ioengine=psync", "--iodepth=1", "--fallocate=none", "--end_fsync=0", "--output-format=json"]
        words += ["--allow_file_create=1" if mode == "write" else "--allow_file_create=0", "--invalidate=0"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=True)
        finally:
            if mode == "write":
                target.unlink(missing_ok=True)
        return float(json.loads(done.stdout)["jobs"][0][mode]["bw_bytes"])

    return run


def dd(mode: str) -> Tool:
    def run(file: Path, size: int) -> float:
        target = file.with_suffix(".dd")
        ends = ["if=/dev/zero", f"of={target}", "oflag=direct"] if mode == "write" else [f"if={file}", "of=/dev/null"]
        ends += [] if mode == "write" else ["iflag=direct"]
        words = ["dd", *ends, "bs=1M", f"count={size // MIB}"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
        finally:
            target.unlink(missing_ok=True)
        found = re.search(r"(\d+) bytes .* copied, ([\d.e-]+) s", done.stderr)
        assert found, done.stderr
        return int(found[1]) / float(found[2])

    return run


def compare(mode: str, folder: Path, size: int, rounds: int) -> None:
    tools: dict[str, Tool] = {"this project": ours(mode), "dd": dd(mode)}
    if shutil.which("fio"):
        tools["fio"] = fio(mode)
    file = folder / "data"
    with open(file, "wb") as data:
        for _ in range(size // MIB if mode == "read" else 0):
            data.write(os.urandom(MIB))
        os.fsync(data.fileno())
    rates: dict[str, list[float]] = {name: [] for name in tools}
    for number in range(rounds):
        names = list(tools)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            rates[name].append(tools[name](file, size))
    show(mode, rates)


def show(mode: str, rates: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(seen) for name, seen in rates.items()}
    for name, seen in rates.items():
        low, high = min(seen) / 1e6, max(seen) / 1e6
        print(f"{mode:6} {name:13} {middle[name] / 1e6:8.0f} MB/s  ({low:.0f} to {high:.0f}, {len(seen)} rounds)")
    for rival in rates.keys() - {"this project"}:
        print(f"{mode:6} this project / {rival:4} {middle['this project'] / middle[rival]:.3f}  (ratio of medians)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--size", type=int, default=512, help="MiB of one run, 1024 at most (default 512)")
    parser.add_argument("--rounds", type=int, default=9)
    words = parser.parse_args()
    if not 8 <= words.size <= 1024:
        parser.error("--size must be from 8 to 1024")
    with tempfile.TemporaryDirectory(dir=words.folder, prefix=".ascend-env-") as folder:
        for mode in ("write", "read"):
            compare(mode, Path(folder), words.size * MIB, words.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process {peak:.0f} MiB; of the largest child (a tool) {children_peak():.0f} MiB")
    return 0


def children_peak() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
