"""local_cache: what frameworks keep at hand must be on a disk of this host, and there must be room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks import paths
from pytest_ascendenv.checks.space import fault_of
from pytest_ascendenv.checks.storage import MET, NOT_TOLD
from pytest_ascendenv.verdict import Fact, Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.caches import Cache
    from pytest_ascendenv.probes.storage import Storage

REFERENCE = (
    "CANN, Environment variables, ASCEND_CACHE_PATH: storage without file locks should give way to local folders"
)


@dataclass(frozen=True)
class Wanted:
    paths: tuple[str, ...] = ()


class LocalCache:
    """Every cache directory is on a disk of this host (or in memory), writable, and not full.

    Without arguments those are judged that the environment names (HF_HOME, ASCEND_CACHE_PATH, …), the defaults below
    $HOME, and ``cache`` of the settings. One that does not exist is judged where it will be made:
    at its nearest existing parent. A failure weighs as an error where the path was named, else as a warning.
    """

    name = "local_cache"
    when: Literal["before", "after"] = "before"

    def parse(self, *names: Any, path: Any = ()) -> Wanted:
        return Wanted(paths.parse(self.name, names, path))

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        caches = env.caches(wanted.paths)
        if not caches:
            raise Unknown("no cache directory is named, and HOME is not set")
        seen, unseen = paths.look([cache.path for cache in caches], env)
        faults = {storage.path: fault for storage in seen if (fault := _fault(storage))}
        unseen += [
            f"{storage.path} is on {storage.kind}: {storage.reason}" for storage in seen if storage.kind in NOT_TOLD
        ]
        if unseen and not faults:
            raise Unknown("; ".join(unseen))
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if faults else Verdict.PASS,
            expected="every cache directory on a disk of this host, writable and with room",
            found="; ".join(faults.values()) or "; ".join(map(str, seen)),
            evidence=_evidence(caches, seen),
            cause="caches are read and written in small pieces, and locked" if faults else "",
            fix=_fix([cache for cache in caches if cache.path in faults]),
            reference=REFERENCE,
            notes=tuple(unseen),
            severity="error"
            if any(cache.source == "declared" and cache.path in faults for cache in caches)
            else "warning",
        )


def _fault(storage: Storage) -> str:
    if storage.kind not in MET | NOT_TOLD | {"ram"}:
        return f"{storage.path} is on {storage.kind} ({storage.filesystem} at {storage.mount_point})"
    if storage.mount.read_only:
        return f"{storage.path} is on a file system that is mounted read-only"
    space = storage.located.space
    if space and not space.writable:
        return f"{storage.missing or storage.path} cannot be written by this user"
    return fault_of(storage)


def _evidence(caches: tuple[Cache, ...], seen: list[Storage]) -> tuple[Fact, ...]:
    named = tuple(Fact("cache directory", cache.path, cache.source) for cache in caches)
    return (*named, *(fact for storage in seen for fact in storage.chain))


def _fix(bad: list[Cache]) -> str:
    steps = []
    for cache in bad:
        name = cache.source.removeprefix("the default of ")
        steps.append(f"set {name} to a local folder" if name != "declared" else f"use a local folder for {cache.path}")
    return "; ".join(dict.fromkeys(steps))
