"""The processes of a measurement: which they are, and what their threads received and waited for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_CPU = slice(
    11, 15
)  # of /proc/PID/stat, counted from the state: own time in user and kernel mode, and reaped children's


@dataclass(frozen=True)
class Thread:
    """Nanoseconds that a thread ran, and that it waited for a core while it could have run (schedstat)."""

    run: int
    wait: int


Threads = dict[int, Thread]
"""By thread id."""


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; [] where the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def name(pid: int) -> str:
    """The program and, of an interpreter, its script: no other argument, which may be a secret."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
        comm = (PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
    scripts = [os.path.basename(word) for word in words[1:] if word.endswith((".py", ".sh")) and word[0] != "-"]
    return f"{comm} {scripts[0]}" if scripts else comm


def members(root: int) -> list[int]:
    """The living processes below ``root`` and those of its session, also when their parent is gone; root included."""
    stats = {int(p.name): stat(int(p.name)) for p in PROC.iterdir() if p.name.isdigit()}
    found = {pid for pid, fields in stats.items() if fields and fields[0] != "Z" and int(fields[3]) == root}
    found |= {root} if root in stats else set()
    grown = True
    while grown:
        more = {pid for pid, fields in stats.items() if fields and int(fields[1]) in found} - found
        found |= more
        grown = bool(more)
    return sorted(pid for pid in found if stats[pid] and stats[pid][0] != "Z")


def children(pid: int) -> list[int]:
    """The descendants of ``pid`` by its tasks' own lists: cheap on a host with many processes; [] without the lists."""
    found: list[int] = []
    for task in _tasks(pid):
        try:
            text = (PROC / str(pid) / "task" / task / "children").read_text()
        except OSError:
            continue
        for child in map(int, text.split()):
            found += [child, *children(child)]
    return found


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(PROC / str(pid) / "task")
    except OSError:
        return []


def threads(root: int) -> Threads:
    """Every thread of ``root`` and its descendants; {} where the kernel keeps no schedstat."""
    found: Threads = {}
    for pid in (root, *children(root)):
        for task in _tasks(pid):
            try:
                run, wait, _ = (PROC / str(pid) / "task" / task / "schedstat").read_text().split()
            except (OSError, ValueError):
                continue
            found[int(task)] = Thread(int(run), int(wait))
    return found


def cpu_seconds(root: int) -> float:
    """CPU time of ``root`` and its descendants, with what their threads and children had that are gone; in ticks."""
    return sum(sum(map(int, stat(pid)[_CPU])) for pid in (root, *children(root))) / _TICK


def spent(before: Threads, after: Threads) -> Threads:
    """What each thread that still lives received in between; one that was born in between counts from zero."""
    zero = Thread(0, 0)
    return {
        tid: Thread(now.run - before.get(tid, zero).run, now.wait - before.get(tid, zero).wait)
        for tid, now in after.items()
    }
