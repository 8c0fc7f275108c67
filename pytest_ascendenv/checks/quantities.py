"""Sizes, rates and times as people write them: "64 MiB", "1 GB/s", "10 ms"."""

from __future__ import annotations

import re
from typing import Any

_SIZES = {"B": 1}
_SIZES |= {f"{p}B": 1000**n for n, p in enumerate("KMGT", 1)} | {f"{p}iB": 1024**n for n, p in enumerate("KMGT", 1)}
_SIZES["kB"] = 1000
_TIMES = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]+)\s*")


def size(value: Any, name: str = "size") -> int:
    """Bytes of "64 MiB" or "5 GB"; raises ValueError that names what is allowed."""
    return round(_quantity(value, name, _SIZES, '"64 MiB" or "5 GB"'))


def rate(value: Any, name: str = "rate") -> float:
    """Bytes/s of "1 GB/s", "500 MB/s" or "900 MiB/s"."""
    example = '"1 GB/s" or "900 MiB/s"'
    if not isinstance(value, str) or not value.rstrip().endswith("/s"):
        raise ValueError(f"{name} must be a text such as {example}, not {value!r}")
    return _quantity(value.rstrip()[:-2], name, _SIZES, example, value)


def seconds(value: Any, name: str = "time") -> float:
    """Seconds of "10 ms", "300 us" or "1.5 s"."""
    return _quantity(value, name, _TIMES, '"10 ms" or "300 us"')


def _quantity(text: Any, name: str, units: dict[str, Any], example: str, whole: Any = None) -> float:
    found = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if not found or found[2] not in units or float(found[1]) <= 0:
        shown = whole if whole is not None else text
        raise ValueError(f"{name} must be a text such as {example} (units: {', '.join(units)}), not {shown!r}")
    return float(found[1]) * float(units[found[2]])


def show_bytes(count: float) -> str:
    """In the binary unit that leaves the fewest digits: "64 MiB", "1.5 GiB"."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}" if count < 1000 * scale else f"{count / scale:.0f} {unit}"
    return f"{count:.0f} B"


def show_rate(rate_: float) -> str:
    """Decimal, as vendors and fio's summaries give it: "1.37 GB/s"."""
    return f"{rate_ / 1e9:.2f} GB/s" if rate_ >= 1e9 else f"{rate_ / 1e6:.3g} MB/s"


def show_seconds(time: float) -> str:
    return f"{time:.2f} s" if time >= 1 else f"{time * 1e3:.3g} ms" if time >= 1e-3 else f"{time * 1e6:.0f} us"
