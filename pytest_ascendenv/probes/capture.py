"""A host as one JSON document, and back: what the affinity probes read, so that it can be judged elsewhere."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ascendenv.probes import cgroup, cpu, cpulist, npu, processes
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Unknown

VERSION = 1
ENVIRONMENT = re.compile(
    r"CPU_AFFINITY(_CONF)?|ASCEND_(RT_)?VISIBLE_DEVICES|(OMP|GOMP|KMP)_[A-Z_]+|OPENBLAS_NUM_THREADS|MKL_NUM_THREADS"
    r"|MSRUN_CPU_LIST|SLURM_CPU_BIND|OMPI_COMM_WORLD_RANK|TASK_QUEUE_ENABLE|ASCEND_LAUNCH_BLOCKING"
    r"|PYTORCH_NPU_ALLOC_CONF|COMBINED_ENABLE|MS_ALLOC_CONF|MS_DEV_LAUNCH_BLOCKING|(MS|DATASET)_ENABLE_NUMA"
)
"""The variables that are kept. No others: an environment holds passwords."""

_FILES = (cpu.ONLINE, cgroup.GROUPS, cgroup.MOUNTS, "/proc/loadavg", "/proc/stat", "/sys/fs/cgroup/cpuset/cpuset.cpus")
_CGROUP = {
    "cpuset": ("cpuset.effective_cpus", "cpuset.cpus", "cpuset.cpus.effective"),
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max", "cpu.stat"),
}
_PCI = ("vendor", "device", "numa_node", "local_cpulist")


def capture(host: Host) -> dict[str, Any]:
    """The files and variables that the probes of cores, control groups, NPUs and processes need. No command lines."""
    files = {}
    for name in (*_FILES, *_cgroup_files(host), *_pci_files(host), *_job_files(host)):
        text = cgroup.read(host, name)
        if text:
            files[name] = text + "\n"
    files[cpu.STATUS] = f"Cpus_allowed_list:\t{cpulist.show(cpu.Cpu(host).mask)}\n"
    files.update({f"/dev/davinci{number}": "" for number in npu.nodes(host)})
    environ = {name: value for name, value in host.environ.items() if ENVIRONMENT.fullmatch(name)}
    return {"version": VERSION, "files": dict(sorted(files.items())), "environ": dict(sorted(environ.items()))}


def restore(captured: Mapping[str, Any], folder: Path) -> Host:
    """The captured host as files below ``folder``, which should be empty.

    Raises ValueError where the document is none of ours, or names a file outside of /proc, /sys and /dev.
    """
    files, environ = captured.get("files"), captured.get("environ")
    if captured.get("version") != VERSION or not isinstance(files, dict) or not isinstance(environ, dict):
        raise ValueError(f'no captured host: it needs "version": {VERSION}, "files" and "environ"')
    for name, text in files.items():
        if not re.match(r"/(proc|sys|dev)/", name) or ".." in name.split("/") or not isinstance(text, str):
            raise ValueError(f"{name!r} is no file of /proc, /sys or /dev with its text")
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return Host(folder, {str(name): str(value) for name, value in environ.items()})


def main(argv: Sequence[str]) -> int:
    """``python -m pytest_ascendenv capture > host.json``"""
    if argv:
        print("usage: python -m pytest_ascendenv capture > host.json", file=sys.stderr)
        return 0 if list(argv) in (["-h"], ["--help"]) else 4
    try:
        print(json.dumps(capture(Host()), indent=1))
    except Unknown as reason:
        print(f"this host cannot be captured: {reason}", file=sys.stderr)
        return 1
    return 0


def _cgroup_files(host: Host) -> Iterator[str]:
    for controller, names in _CGROUP.items():
        try:
            folders = cgroup.group(host, controller).folders
        except Unknown:
            continue
        yield from (f"{folder}/{name}" for folder in folders for name in names)


def _pci_files(host: Host) -> Iterator[str]:
    yield from (f"{npu.PCI}/{card.address}/{name}" for card in npu.cards(host) for name in _PCI)


def _job_files(host: Host) -> Iterator[str]:
    """Names and masks of the threads of NPU jobs, those alone."""
    for job in processes.npu_jobs(host):
        yield from (f"/proc/{job.pid}/{name}" for name in ("comm", "stat"))
        for tid in os.listdir(host.path(f"/proc/{job.pid}/task")):
            yield from (f"/proc/{job.pid}/task/{tid}/{name}" for name in ("comm", "status"))
