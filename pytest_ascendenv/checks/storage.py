"""local_storage: the data must live on a disk of this host."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.verdict import Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.storage import Storage

REFERENCE = "msprof-analyze, advisor/rules/en/dataloader.yaml: move data from remote storage to a local disk"
MET = frozenset(["local-ssd", "local-hdd", "local-unknown", "ram"])
NOT_TOLD = frozenset(["container-layer", "unknown"])
NO_PATH = 'no path given: name it (local_storage = "/data/coco") or set data = ["/data/coco"] in the settings'


@dataclass(frozen=True)
class Wanted:
    """The paths, or none for the declared data."""

    paths: tuple[str, ...] = ()


def paths_of(values: Iterable[Any], name: str) -> tuple[str, ...]:
    """Paths from marker arguments; TypeError for what is no path, ValueError for an empty one."""
    found = []
    for value in values:
        if not isinstance(value, (str, os.PathLike)):
            raise TypeError(f"{name} takes paths, not {value!r}")
        if not os.fspath(value):
            raise ValueError(f"{name} got an empty path")
        found.append(str(os.fspath(value)))
    return tuple(found)


def declared_paths(paths: Sequence[str], env: AscendEnv) -> tuple[str, ...]:
    """The named paths, else the declared data; raises Unknown where there is neither."""
    if not (paths or env.declared.data):
        raise Unknown(NO_PATH)
    return tuple(paths or env.declared.data)


class LocalStorage:
    """Every path must live on a disk of this host, through links, binds, overlays and stacks of devices.

    Met by local-ssd, local-hdd (noted: the vendor advises an SSD), local-unknown (noted: a virtual disk or RAID volume
    whose disks the host cannot see) and ram (noted: memory is no disk). A path that does not exist is a failure. What
    cannot be proved local, such as a container's own layer or an unknown FUSE file system, is "could not tell".
    """

    name = "local_storage"
    when: Literal["before", "after"] = "before"

    def parse(self, *paths: Any, path: Any = ()) -> Wanted:
        more = [path] if isinstance(path, (str, os.PathLike)) else path
        return Wanted(paths_of([*paths, *more], self.name))

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        seen, unseen = _look(declared_paths(wanted.paths, env), env)
        bad = [storage for storage in seen if storage.missing or storage.kind not in MET | NOT_TOLD]
        unseen += [_not_told(storage) for storage in seen if not storage.missing and storage.kind in NOT_TOLD]
        if unseen and not bad:
            raise Unknown("; ".join(unseen))
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if bad else Verdict.PASS,
            expected="every path on a disk of this host",
            found="; ".join(_found(storage) for storage in bad or seen),
            evidence=tuple(fact for storage in seen for fact in storage.chain),
            cause="; ".join(filter(None, map(_cause, bad))),
            fix=_fix(bad),
            reference=REFERENCE,
            notes=(*unseen, *filter(None, map(_note, seen))),
        )


def _look(paths: Iterable[str], env: AscendEnv) -> tuple[list[Storage], list[str]]:
    """What could be resolved, and the reasons of what could not; one dead mount does not hide the others."""
    seen, unseen = [], []
    for path in paths:
        try:
            seen.append(env.storage(path))
        except Unknown as unknown:
            unseen.append(str(unknown))
    return seen, unseen


def _not_told(storage: Storage) -> str:
    return (
        f"{storage.path} is on {storage.kind} ({storage.filesystem} at {storage.mount_point}): {storage.reason}; "
        f'if the site knows what it is, set treat_as = {{ "{storage.mount_point}" = "local-ssd" }} in the settings'
    )


def _found(storage: Storage) -> str:
    if storage.missing:
        return f"{storage.missing} does not exist (nearest existing parent: {storage.real}, {storage.kind})"
    return f"{storage.path} is on {storage.kind} ({storage.filesystem} {storage.source} at {storage.mount_point})"


def _cause(storage: Storage) -> str:
    if storage.missing:
        return "the path is misspelt, or its file system is not mounted"
    return storage.reason


def _fix(bad: Sequence[Storage]) -> str:
    steps = []
    if missing := [storage.missing for storage in bad if storage.missing]:
        steps.append(f"mount or create {', '.join(missing)}, or correct the path")
    if far := [storage for storage in bad if not storage.missing]:
        names = ", ".join(storage.path for storage in far)
        steps.append(
            f"copy {names} to a disk of this host (on ModelArts: /cache); if the site knows this storage to be a local "
            f'disk, set treat_as = {{ "{far[0].mount_point}" = "local-ssd" }} in the settings'
        )
    return "; ".join(steps)


def _note(storage: Storage) -> str:
    if storage.treated:
        return f"{storage.path} counts as {storage.kind} because the settings say so ({storage.treated.source})"
    texts = {
        "ram": "is in memory, not on a disk: it takes memory from the job and is gone after a restart",
        "local-hdd": "is on a rotating disk; the vendor advises an SSD (MindSpore tutorials, dataset/optimize)",
        "local-unknown": f"is on a local device, but what is behind it cannot be proved ({storage.reason})",
    }
    return f"{storage.path} {texts[storage.kind]}" if storage.kind in texts else ""
