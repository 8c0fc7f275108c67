"""Directories in which frameworks keep caches, by the environment of the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ascendenv.probes.host import Host

HUGGING_FACE = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_DATASETS_CACHE", "TRANSFORMERS_CACHE", "MODELSCOPE_CACHE")
ASCEND = ("ASCEND_CACHE_PATH", "ACL_OP_COMPILER_CACHE_DIR")
"""Operator builds; without either they go to $HOME/atc_data (CANN, "Environment variables", ASCEND_CACHE_PATH)."""


@dataclass(frozen=True)
class Cache:
    """One directory, and what makes it one: a variable, a default, or "declared"."""

    path: str
    source: str


def caches(host: Host, declared: Sequence[str] = ()) -> tuple[Cache, ...]:
    """The cache directories that a job with this environment uses; those of a default only once they may be there."""
    found = [Cache(path, "declared") for path in declared]
    found += [Cache(host.environ[name], name) for name in (*HUGGING_FACE, *ASCEND) if host.environ.get(name)]
    found += _hugging_face(host)
    compiled = host.environ.get("MS_COMPILER_CACHE_PATH")
    if compiled and host.environ.get("MS_COMPILER_CACHE_ENABLE") == "1":
        found.append(Cache(compiled, "MS_COMPILER_CACHE_PATH"))
    if "HOME" in host.environ and not any(name in host.environ for name in ASCEND):
        found.append(Cache("~/atc_data", "the default of ASCEND_CACHE_PATH"))
    return tuple({cache.path: cache for cache in reversed(found)}.values())[::-1]


def _hugging_face(host: Host) -> list[Cache]:
    if home := host.environ.get("HF_HOME"):
        return [Cache(home, "HF_HOME")]
    if top := host.environ.get("XDG_CACHE_HOME"):
        return [Cache(f"{top}/huggingface", "XDG_CACHE_HOME")]
    return [Cache("~/.cache/huggingface", "the default of HF_HOME")] if "HOME" in host.environ else []
