"""The cores of each kind of thread, and the small table that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ascendenv.affinity.grammar import Ignored
from pytest_ascendenv.probes import cpulist

Mode = Literal["off", "coarse", "fine"]
Cores = tuple[int, ...] | None

KINDS = ("main", "backward", "acl", "release", "watchdog", "others")


@dataclass(frozen=True)
class DeviceBinding:
    """Cores by kind of thread: None where torch_npu leaves the mask alone, () where the kernel would refuse it.

    ``others`` are all further threads and the DataLoader workers; ``backward`` is the autograd thread, which shares the
    main thread's core from 7.1 on.
    """

    main: Cores = None
    backward: Cores = None
    acl: Cores = None
    release: Cores = None
    watchdog: Cores = None
    others: Cores = None

    def kinds(self) -> Mapping[str, Cores]:
        return {kind: getattr(self, kind) for kind in KINDS}

    @property
    def hot(self) -> frozenset[int]:
        """The cores that one thread alone is pinned to: what a neighbour must not touch."""
        single = (self.main, self.backward, self.acl, self.release, self.watchdog)
        return frozenset(cores[0] for cores in single if cores is not None and len(cores) == 1)


@dataclass(frozen=True)
class Binding:
    """What CPU_AFFINITY_CONF does. ``mode`` is what the string asks for, ``binds`` whether torch_npu then acts on it,
    and ``reason`` why not; ``crashes`` where torch_npu ends at its first NPU call. ``lazy``: the main thread is bound
    only when the first backward pass or DataLoader starts."""

    mode: Mode
    binds: bool
    reason: str
    ignored: tuple[Ignored, ...]
    devices: tuple[DeviceBinding, ...]
    release: str
    generation: str
    notes: tuple[str, ...] = ()
    lazy: bool = True
    forced: bool = False
    crashes: bool = False

    @property
    def effective(self) -> Mode:
        """The mode as it acts: "off" where nothing is bound, "coarse" where no NPU has the cores for fine binding."""
        if not self.binds:
            return "off"
        split = any(device.hot and device.main != device.others for device in self.devices)
        return "coarse" if self.mode == "fine" and not split else self.mode

    def table(self) -> str:
        """One line an NPU; columns that say the same everywhere are kept, so that rows compare."""
        kinds = [kind for kind in KINDS if kind != "backward" or self.generation == "B"]
        heads = ["NPU", *kinds[:-1], "others, workers"]
        rows = [
            [str(number), *(_cell(device.kinds()[kind]) for kind in kinds)]
            for number, device in enumerate(self.devices)
        ]
        widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows)
        )
        return "\n".join(line.rstrip() for line in lines)

    def as_dict(self) -> dict[str, Any]:
        """What the command prints as JSON."""
        return {
            "mode": self.mode,
            "effective": self.effective,
            "binds": self.binds,
            "crashes": self.crashes,
            "reason": self.reason,
            "release": self.release,
            "generation": self.generation,
            "ignored": [{"token": one.token, "why": one.why, "meant": one.meant} for one in self.ignored],
            "notes": list(self.notes),
            "devices": [_listed(device) for device in self.devices],
        }


def _listed(device: DeviceBinding) -> dict[str, list[int] | None]:
    return {kind: None if cores is None else list(cores) for kind, cores in device.kinds().items()}


def _cell(cores: Cores) -> str:
    if cores is None:
        return "unbound"
    return cpulist.show(cores) or "refused"
