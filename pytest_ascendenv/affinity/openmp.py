"""OpenMP's own binding, as libgomp and the LLVM runtime read it.

libgomp binds the thread that loads it (measured with GCC 12): under OMP_PROC_BIND=true a mere ``import mindspore``
leaves the main thread on one core, which every worker forked later inherits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VARIABLES = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_BINDS = ("true", "master", "primary", "close", "spread")
_WIDE = ("sockets", "numa_domains", "ll_caches", "{")  # places that hold several cores


@dataclass(frozen=True)
class Pin:
    """What pins: the variable, its value, and what becomes of the thread that loads OpenMP."""

    variable: str
    value: str
    effect: str


def pins(environ: Mapping[str, str]) -> tuple[Pin, ...]:
    """The variables that bind threads; () where none is set, and where OMP_PROC_BIND=false turns binding off."""
    found = [pin for pin in (_gnu(environ), _llvm(environ)) if pin is not None]
    return tuple(found)


def _gnu(environ: Mapping[str, str]) -> Pin | None:
    bind = environ.get("OMP_PROC_BIND", "").split(",")[0].strip().lower()
    if bind == "false":
        return None
    for name in ("GOMP_CPU_AFFINITY", "OMP_PLACES"):
        if environ.get(name, "").strip():
            return Pin(name, environ[name], _effect(environ[name]))
    if bind in _BINDS:
        return Pin("OMP_PROC_BIND", environ["OMP_PROC_BIND"], _effect("cores"))
    return None


def _effect(places: str) -> str:
    if places.strip().lower().startswith(_WIDE):
        return f"binds the thread that loads OpenMP to the first place of {places}"
    return "binds the thread that loads OpenMP to one core"


def _llvm(environ: Mapping[str, str]) -> Pin | None:
    """Read by the Intel and LLVM runtimes alone; "none" and "disabled" leave threads alone."""
    value = environ.get("KMP_AFFINITY", "")
    words = {word.strip().lower() for word in value.split(",")}
    if not words & {"compact", "scatter", "balanced", "explicit", "logical", "physical"}:
        return None
    return Pin("KMP_AFFINITY", value, "binds the threads of the LLVM and Intel OpenMP runtimes, one core or group each")
