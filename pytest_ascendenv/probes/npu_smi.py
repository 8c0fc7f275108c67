"""What ``npu-smi`` prints, read where the tool is there; anything unexpected is Unknown, never a crash.

Columns differ in width between releases, so tables are split at "|", never by position. The forms are those of drivers
23.0 to 26.0 on Atlas 910A, A2 and A3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ascendenv.probes import cpulist, limited
from pytest_ascendenv.verdict import Unknown

LIMIT = 10.0  # seconds; npu-smi waits for the driver, and hangs with it


@dataclass(frozen=True)
class Chip:
    """One NPU chip of ``npu-smi info``; ``physical`` is -1 where that form does not print it (A2)."""

    npu: int
    chip: int
    name: str
    health: str
    address: str
    physical: int = -1


@dataclass(frozen=True)
class Job:
    """A process on an NPU; the name may be cut short or empty."""

    npu: int
    chip: int
    pid: int
    name: str


@dataclass(frozen=True)
class Info:
    version: str
    chips: tuple[Chip, ...]
    jobs: tuple[Job, ...]


def query(*words: str) -> str:
    """The output of ``npu-smi info WORDS``; raises Unknown where there is no tool, no driver, or no answer in time."""
    text = limited.run(["npu-smi", "info", *words], LIMIT, " ".join(["npu-smi info", *words]))
    return checked(text)


def checked(text: str) -> str:
    """The text; raises Unknown where it is the tool's complaint ("dcmi module initialize failed. ret is -8005")."""
    match = re.search(r"dcmi mod\w+ initializ\w+ failed.*", text)
    if match:
        raise Unknown(f"npu-smi: {match[0].strip()}")
    return text


def info(text: str) -> Info:
    """``npu-smi info``: two rows a chip, then the table of processes. Raises Unknown where no chip can be read."""
    version = re.search(r"Version:\s*(\S+)", checked(text))
    chips, jobs, upper, in_jobs = [], [], None, False
    for cells in _rows(text):
        head = cells[0].split()
        if len(cells) > 1 and cells[1].startswith("Process id"):
            in_jobs = True
        elif in_jobs:
            jobs += _job(cells)
        elif len(cells) >= 3 and head and head[0].isdigit():
            if re.fullmatch(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]", cells[1]):
                chips += _chip(upper, head, cells[1])
            elif len(head) >= 2:
                upper = cells
    if not chips:
        raise Unknown("npu-smi info shows no NPU that can be read")
    return Info(version[1] if version else "", tuple(chips), tuple(jobs))


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.strip().startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def _chip(upper: list[str] | None, head: list[str], address: str) -> list[Chip]:
    """The lower row tells the chip (on A3 with its physical id), the one above it the NPU, its name and health."""
    if upper is None:
        return []
    number, name = upper[0].split(None, 1)
    physical = int(head[1]) if len(head) > 1 and head[1].isdigit() else -1
    return [Chip(int(number), int(head[0]), name, upper[1], address.lower(), physical)]


def _job(cells: list[str]) -> list[Job]:
    places = cells[0].split()
    if len(cells) < 3 or not cells[1].isdigit() or len(places) != 2 or not all(map(str.isdigit, places)):
        return []
    return [Job(int(places[0]), int(places[1]), int(cells[1]), cells[2])]


def mapping(text: str) -> dict[int, tuple[int, int]]:
    """``npu-smi info -m``: logic id -> (NPU, chip). Rows without a logic id (the MCU) are no devices."""
    found = {}
    for line in checked(text).splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and all(word.isdigit() for word in words[:3]):
            found[int(words[2])] = (int(words[0]), int(words[1]))
    if not found:
        raise Unknown("npu-smi info -m lists no device that can be read")
    return found


def chips(text: str) -> dict[int, int]:
    """``npu-smi info -l``: NPU -> its number of chips (1 on A2, 2 on A3)."""
    found: dict[int, int] = {}
    npu = -1
    for line in checked(text).splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if colon and value.isdigit():
            if key == "NPU ID":
                npu = int(value)
            elif key == "Chip Count" and npu >= 0:
                found[npu] = int(value)
    if not found:
        raise Unknown("npu-smi info -l lists no NPU that can be read")
    return found


def topology(text: str) -> dict[int, str]:
    """``npu-smi info -t topo``: NPU -> its local cores as the driver prints them ("144-167").

    Raises Unknown where the form has no such column: an A3 does not tell.
    """
    if "CPU Affinity" not in checked(text):
        raise Unknown("npu-smi info -t topo prints no CPU Affinity here (an Atlas A3 does not)")
    found = {}
    for line in text.splitlines():
        words = line.split()
        match = re.fullmatch(r"NPU([0-9]+)", words[0]) if len(words) > 2 else None
        if match and _is_list(words[-1]):
            found[int(match[1])] = words[-1]
    if not found:
        raise Unknown("npu-smi info -t topo lists no cores that can be read")
    return found


def _is_list(text: str) -> bool:
    try:
        return bool(cpulist.parse(text))
    except ValueError:
        return False
