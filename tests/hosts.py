"""Fake hosts: trees of /proc, /sys and /dev that the probes read as they read the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ascendenv.probes.host import Host


@dataclass(frozen=True)
class Thread:
    comm: str
    allowed: str = ""
    ticks: int = 0


@dataclass(frozen=True)
class Process:
    """One process of a fake host. ``ticks`` is its CPU time in 1/100 s, ``core`` where it ran last, ``threads`` its
    further threads."""

    pid: int
    comm: str = "python"
    allowed: str = ""
    cmdline: str = ""
    ticks: int = 0
    core: int = 0
    uid: int = 1000
    ppid: int = 1
    threads: Sequence[Thread] = field(default_factory=tuple)


@dataclass(frozen=True)
class Npu:
    """A card on the PCI bus."""

    address: str
    numa: int = 0
    local: str = ""
    device: str = "0xd802"
    vendor: str = "0x19e5"


def write(root: Path, name: str, text: str) -> None:
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_host(
    root: Path,
    *,
    online: str = "0-191",
    mask: str | None = None,
    cpuset: str | None = None,
    quota: float | None = None,
    cgroup: int = 1,
    group: str = "/job",
    npus: int = 0,
    pci: Sequence[Npu] = (),
    processes: Sequence[Process] = (),
    environ: Mapping[str, str] | None = None,
    pid: int = 4242,
) -> Host:
    """A host below ``root``; ``mask`` and ``cpuset`` default to all online cores and to no cpuset."""
    write(root, "/sys/devices/system/cpu/online", online + "\n")
    write(root, "/proc/self/status", status("pytest", mask or cpuset or online, pid))
    (_write_v1 if cgroup == 1 else _write_v2)(root, online, group, cpuset, quota)
    write(root, "/dev/null", "")
    for number in range(npus):
        write(root, f"/dev/davinci{number}", "")
    for card in pci:
        _write_pci(root, card)
    write(root, "/proc/loadavg", f"0.10 0.20 0.30 1/{max(90, len(processes))} 999\n")
    for process in processes:
        _write_process(root, process, online)
    return Host(root, dict(environ or {}))


def status(name: str, allowed: str, pid: int = 4242, uid: int = 1000) -> str:
    return (
        f"Name:\t{name}\nTgid:\t{pid}\nPid:\t{pid}\nPPid:\t1\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"
        f"Cpus_allowed_list:\t{allowed}\n"
    )


def _write_v1(root: Path, online: str, group: str, cpuset: str | None, quota: float | None) -> None:
    write(root, "/proc/self/cgroup", f"3:cpuset:{group}\n2:cpu,cpuacct:{group}\n")
    write(
        root,
        "/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
    )
    write(root, "/sys/fs/cgroup/cpuset/cpuset.cpus", online + "\n")
    if cpuset is not None:
        write(root, f"/sys/fs/cgroup/cpuset{group}/cpuset.effective_cpus", cpuset + "\n")
    limit = -1 if quota is None else int(quota * 100000)
    write(root, f"/sys/fs/cgroup/cpu,cpuacct{group}/cpu.cfs_quota_us", f"{limit}\n")
    write(root, f"/sys/fs/cgroup/cpu,cpuacct{group}/cpu.cfs_period_us", "100000\n")
    write(root, f"/sys/fs/cgroup/cpu,cpuacct{group}/cpu.stat", "nr_periods 20\nnr_throttled 3\nthrottled_time 99\n")


def _write_v2(root: Path, online: str, group: str, cpuset: str | None, quota: float | None) -> None:
    write(root, "/proc/self/cgroup", f"0::{group}\n")
    write(root, "/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    limit = "max" if quota is None else str(int(quota * 100000))
    write(root, f"/sys/fs/cgroup{group}/cpu.max", f"{limit} 100000\n")
    write(root, f"/sys/fs/cgroup{group}/cpu.stat", "usage_usec 5\nnr_periods 20\nnr_throttled 3\nthrottled_usec 99\n")
    if cpuset is not None:
        write(root, f"/sys/fs/cgroup{group}/cpuset.cpus.effective", cpuset + "\n")


def _write_pci(root: Path, card: Npu) -> None:
    folder = f"/sys/bus/pci/devices/{card.address}"
    for name, text in {
        "vendor": card.vendor,
        "device": card.device,
        "class": "0x120000",
        "numa_node": str(card.numa),
        "local_cpulist": card.local,
    }.items():
        write(root, f"{folder}/{name}", text + "\n")


def _write_process(root: Path, process: Process, online: str) -> None:
    folder = f"/proc/{process.pid}"
    write(root, f"{folder}/cmdline", (process.cmdline or process.comm).replace(" ", "\0") + "\0")
    main = Thread(process.comm, process.allowed, process.ticks)
    for tid, thread in enumerate((main, *process.threads), process.pid):
        allowed = thread.allowed or process.allowed or online
        names = [folder, f"{folder}/task/{tid}"] if tid == process.pid else [f"{folder}/task/{tid}"]
        for place in names:
            write(root, f"{place}/comm", thread.comm + "\n")
            write(root, f"{place}/status", status(thread.comm, allowed, process.pid, process.uid))
            write(root, f"{place}/stat", stat_line(tid, thread.comm, process.ppid, thread.ticks, process.core))
            write(root, f"{place}/schedstat", f"{thread.ticks * 10_000_000} 0 1\n")


def stat_line(pid: int, comm: str, ppid: int, ticks: int, core: int) -> str:
    """Fields 1 to 52 of /proc/PID/stat: utime is the 14th, the start time the 22nd, the last core the 39th."""
    fields = ["0"] * 52
    fields[0], fields[1], fields[2], fields[3] = str(pid), f"({comm})", "R", str(ppid)
    fields[13], fields[21], fields[38] = str(ticks), "100", str(core)
    return " ".join(fields) + "\n"
