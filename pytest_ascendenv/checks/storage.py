"""local_storage: the data must live on a disk of this host, and the disk may have to be fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.checks import paths, quantities
from pytest_ascendenv.checks.bandwidth import Speed, judge_speed
from pytest_ascendenv.checks.quantities import show_rate
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.disk import Mode
    from pytest_ascendenv.probes.storage import Storage

REFERENCE = "msprof-analyze, advisor/rules/en/dataloader.yaml: move data from remote storage to a local disk"
MET = frozenset(["local-ssd", "local-hdd", "local-unknown"])
NOT_TOLD = frozenset(["container-layer", "unknown"])
SIZE = "256 MiB"
LARGEST = "1 GiB"


@dataclass(frozen=True)
class Wanted:
    """The paths, or none for the declared data; the floors in bytes/s by mode; the bytes of one run."""

    paths: tuple[str, ...] = ()
    speeds: tuple[tuple[Mode, float], ...] = ()
    size: int = 0


class LocalStorage:
    """Every path must live on a disk of this host, through links, binds, overlays and stacks of devices.

    Met by local-ssd, local-hdd (noted: the vendor advises an SSD) and local-unknown (noted: a virtual disk or RAID
    volume whose disks the host cannot see). Memory (tmpfs) is no disk and fails, as a path that does not exist does;
    ``treat_as`` accepts it. What cannot be proved local, such as a container's own layer or an unknown FUSE file
    system, is "could not tell".

    ``write`` and ``read`` are floors such as "1 GB/s", ``size`` what one of the three runs moves (256 MiB, 1 GiB at
    most). They are measured only where the path is local.
    """

    name = "local_storage"
    when: Literal["before", "after"] = "before"

    def parse(self, *names: Any, path: Any = (), write: Any = None, read: Any = None, size: Any = SIZE) -> Wanted:
        floors: tuple[tuple[Mode, Any], ...] = (("write", write), ("read", read))
        speeds = tuple((m, quantities.rate(v, f"{self.name}: {m}")) for m, v in floors if v is not None)
        amount = quantities.size(size, f"{self.name}: size")
        if not quantities.size("4 MiB") <= amount <= quantities.size(LARGEST):
            raise ValueError(f"{self.name}: size must be from 4 MiB to {LARGEST}, not {size!r}")
        return Wanted(paths.parse(self.name, names, path), speeds, amount)

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        seen, unseen = paths.look(paths.declared(wanted.paths, env), env)
        bad = [storage for storage in seen if storage.missing or storage.kind not in MET | NOT_TOLD]
        unseen += [_not_told(storage) for storage in seen if not storage.missing and storage.kind in NOT_TOLD]
        if unseen and not bad:
            raise Unknown("; ".join(unseen))
        if bad:
            return self._elsewhere(wanted, env, seen, bad, unseen)
        return self._here(wanted, env, seen)

    def _elsewhere(
        self, wanted: Wanted, env: AscendEnv, seen: list[Storage], bad: list[Storage], unseen: list[str]
    ) -> Finding:
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL,
            expected=_expected(wanted),
            found="; ".join(map(_found, bad)),
            evidence=tuple(fact for storage in seen for fact in storage.chain),
            cause="; ".join(filter(None, map(_cause, bad))),
            fix=_fix(bad, env),
            reference=REFERENCE,
            notes=(*unseen, *filter(None, map(_note, seen))),
        )

    def _here(self, wanted: Wanted, env: AscendEnv, seen: Sequence[Storage]) -> Finding:
        speeds = [judge_speed(env, storage, m, floor, wanted.size) for storage in seen for m, floor in wanted.speeds]
        slow = [speed for speed in speeds if speed.fault]
        unknown = [speed.unknown for speed in speeds if speed.unknown]
        if unknown and not slow:
            raise Unknown("; ".join(unknown))
        found = [speed.found for speed in slow] or [*map(_found, seen), *(speed.found for speed in speeds)]
        return Finding(
            precondition=self.name,
            verdict=Verdict.FAIL if slow else Verdict.PASS,
            expected=_expected(wanted),
            found="; ".join(found),
            evidence=(*(f for storage in seen for f in storage.chain), *(f for speed in speeds for f in speed.facts)),
            cause=_joined(speed.fault for speed in slow),
            fix=_joined(speed.fix for speed in slow),
            reference=REFERENCE,
            notes=(*unknown, *_notes(seen, speeds)),
        )


def _joined(words: Any) -> str:
    return "; ".join(dict.fromkeys(words))


def _expected(wanted: Wanted) -> str:
    floors = [f"{mode}s of at least {show_rate(floor)}" for mode, floor in wanted.speeds]
    return " with ".join(["every path on a disk of this host", *([" and ".join(floors)] if floors else [])])


def _notes(seen: Sequence[Storage], speeds: Sequence[Speed]) -> list[str]:
    measured = any(speed.facts for speed in speeds)
    hosts = [storage.path for storage in seen if storage.kind == "local-unknown"] if measured else []
    own = [f"what was measured at {path} may come from a cache of the machine below" for path in hosts]
    return [*filter(None, map(_note, seen)), *(speed.note for speed in speeds if speed.note), *own]


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
    if storage.kind == "ram":
        return f"{storage.path} is in memory, not on a disk: it takes memory from the job and is gone after a restart"
    return storage.reason


def _fix(bad: Sequence[Storage], env: AscendEnv) -> str:
    steps = []
    if missing := [storage.missing for storage in bad if storage.missing]:
        steps.append(f"mount or create {', '.join(missing)}, or correct the path")
    if far := [storage for storage in bad if not storage.missing]:
        names = ", ".join(storage.path for storage in far)
        steps.append(
            f"copy {names} to a disk of this host ({_places(env)}); if the site knows this storage to be a local "
            f'disk, set treat_as = {{ "{far[0].mount_point}" = "local-ssd" }} in the settings'
        )
    return "; ".join(steps)


def _places(env: AscendEnv) -> str:
    return ", ".join(map(str, env.local_places[:3])) or "on ModelArts: /cache"


def _note(storage: Storage) -> str:
    if storage.missing:
        return ""
    if storage.treated:
        return f"{storage.path} counts as {storage.kind} because the settings say so ({storage.treated.source})"
    texts = {
        "local-hdd": "is on a rotating disk; the vendor advises an SSD (MindSpore tutorials, dataset/optimize)",
        "local-unknown": f"is on a local device, but what is behind it cannot be proved ({storage.reason})",
    }
    return f"{storage.path} {texts[storage.kind]}" if storage.kind in texts else ""
