"""The floor in samples/s from what a user knows better: an epoch's time, or the step time of the network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Any

UTILIZATION = 0.9
"""Share of the step time that the accelerator shall compute: MLPerf Storage's accelerator utilization of 90%."""

ALLOWED = (
    'min_throughput(100) in samples/s, min_throughput(samples=150_000, within="30 min"), or '
    'min_throughput(step_time="120 ms", batch=32, ranks=8, utilization=0.9)'
)
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-z]+)\s*")


@dataclass(frozen=True)
class Floor:
    """The least rate in samples/s, ``how`` it was derived ("" where it was given), and the largest coefficient of
    variation of the windows that is allowed (None: any)."""

    rate: float
    how: str = ""
    max_variation: float | None = None

    def __str__(self) -> str:
        text = f"at least {self.rate:g} samples/s"
        if self.how:
            text = f"at least {self.rate:.1f} samples/s ({self.how})"
        return text if self.max_variation is None else f"{text}, varying by at most {self.max_variation:.0%}"


def floor(*args: Any, max_variation: Any = None, **kwargs: Any) -> Floor:
    """The floor of the arguments of ``min_throughput``; TypeError or ValueError says what was found and is allowed."""
    if max_variation is not None:
        max_variation = _positive("max_variation", max_variation)
    if len(args) == 1 and not kwargs:
        return Floor(_positive("rate", args[0]), "", max_variation)
    if not args and kwargs.keys() == {"rate"}:
        return Floor(_positive("rate", kwargs["rate"]), "", max_variation)
    if not args and kwargs.keys() == {"samples", "within"}:
        return _of_epoch(**kwargs, max_variation=max_variation)
    if not args and {"step_time", "batch"} <= kwargs.keys() <= {"step_time", "batch", "ranks", "utilization"}:
        return _of_step(**kwargs, max_variation=max_variation)
    given = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    raise TypeError(f"found min_throughput({', '.join(given)}); allowed is {ALLOWED}")


def _of_epoch(samples: Any, within: Any, max_variation: float | None) -> Floor:
    number, seconds = _positive("samples", samples), duration("within", within)
    return Floor(number / seconds, f"{number:g} samples within {_plain(within)}", max_variation)


def _of_step(
    step_time: Any, batch: Any, max_variation: float | None, ranks: Any = 1, utilization: Any = UTILIZATION
) -> Floor:
    """All ``ranks`` of this host together: their pipelines share its cores, and one that runs alone has them all."""
    seconds, size, number = duration("step_time", step_time), _whole("batch", batch), _whole("ranks", ranks)
    share = _positive("utilization", utilization)
    if share > 1:
        raise ValueError(f"found utilization={utilization!r}; allowed is a share, above 0 and at most 1")
    many = f" x {number} ranks" if number > 1 else ""
    how = f"{share:.0%} of batch {size}{many} every {_plain(step_time)}"
    return Floor(share * size * number / seconds, how, max_variation)


def duration(name: str, value: Any) -> float:
    """Seconds of a number or of a text such as "120 ms" or "30 min"."""
    allowed = f'allowed are seconds or a text such as "120 ms" or "30 min" (units {", ".join(_UNITS)})'
    if isinstance(value, str):
        match = _TIME.fullmatch(value)
        if match is None or match["unit"] not in _UNITS:
            raise ValueError(f"found {name}={value!r}; {allowed}")
        value = float(match["number"]) * _UNITS[match["unit"]]
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"found {name}={value!r}; {allowed}")
    if not (value > 0 and isfinite(value)):
        raise ValueError(f"found {name}={value!r}; {allowed}")
    return float(value)


def _plain(value: Any) -> str:
    return value.strip() if isinstance(value, str) else f"{value:g} s"


def _positive(name: str, value: Any) -> float:
    allowed = _ALLOWED.get(name, ALLOWED)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"found {name}={value!r}; allowed is {allowed}")
    if not (value > 0 and isfinite(value)):
        raise ValueError(f"found {name}={value!r}; allowed is {allowed}")
    return float(value)


_ALLOWED = {
    "samples": "a positive number of samples",
    "utilization": "a share, such as 0.9",
    "max_variation": "the largest coefficient of variation of the rate, such as 0.2",
}


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"found {name}={value!r}; allowed is a whole number, 1 or more")
    if value < 1:
        raise ValueError(f"found {name}={value!r}; allowed is a whole number, 1 or more")
    return value
