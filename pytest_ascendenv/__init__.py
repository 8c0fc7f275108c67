"""A pytest gate for training jobs on Ascend."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["AscendEnv", "Check", "Fact", "Finding", "Throughput", "Unknown", "Verdict"]

_HOMES = {
    "AscendEnv": "environment",
    "Check": "verdict",
    "Fact": "verdict",
    "Finding": "verdict",
    "Throughput": "pipeline",
    "Unknown": "verdict",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are used: importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
