"""open_files: the limit of open files must carry the data pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ascendenv.verdict import Fact, Finding, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv
    from pytest_ascendenv.probes.limits import Limit

REFERENCE = "mind-cluster, component/ascend-faultdiag (i18n.py): ulimit -n 65535"
ADVISED = 65535  # the vendor's fault diagnosis advises it for clusters: each rank holds sockets to many others
POOL = 216
"""What MindSpore's default pool needs: 8 workers with 19 descriptors each (10 shared-memory segments, pipes and the
process; counted with MindSpore 2.10 in /proc/self/fd) and 64 for the process itself. Below it MindSpore ends with "Too
many open files" (dataset/engine/datasets_user_defined.py)."""


@dataclass(frozen=True)
class Wanted:
    minimum: int
    why: str


class OpenFiles:
    """The soft limit of open files (ulimit -n), which a job inherits.

    Without an argument it fails only where MindSpore's default pool of workers cannot run (216) and notes what is below
    the 65535 that the vendor advises for clusters; with one, that number is required.
    """

    name = "open_files"
    when: Literal["before", "after"] = "before"

    def parse(self, minimum: Any = None) -> Wanted:
        if minimum is None:
            return Wanted(POOL, "for MindSpore's default pool of 8 workers")
        if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 1:
            raise ValueError(f"{self.name}: minimum must be a whole number of at least 1, not {minimum!r}")
        return Wanted(minimum, "as declared")

    def judge(self, wanted: Wanted, env: AscendEnv) -> Finding:
        limit = env.limit("Max open files")
        met = limit.soft >= wanted.minimum
        return Finding(
            precondition=self.name,
            verdict=Verdict.PASS if met else Verdict.FAIL,
            expected=f"a soft limit of at least {wanted.minimum} open files ({wanted.why})",
            found=f"soft limit {limit.soft}, hard limit {limit.hard}",
            evidence=(Fact("Max open files", f"{limit.soft} (soft), {limit.hard} (hard)", limit.source),),
            cause="" if met else "the job inherits this limit from the shell or the container that starts it",
            fix="" if met else _fix(limit, max(wanted.minimum, ADVISED)),
            reference=REFERENCE,
            notes=_notes(limit) if met else (),
        )


def _fix(limit: Limit, number: int) -> str:
    if limit.hard >= number:
        return f"ulimit -n {number} in the launch script"
    return (
        f"raise the hard limit, then ulimit -n {number}: docker run --ulimit nofile={number}, or 'nofile {number}' in "
        "/etc/security/limits.conf"
    )


def _notes(limit: Limit) -> tuple[str, ...]:
    if limit.soft >= ADVISED:
        return ()
    return (f"{limit.soft} is below the {ADVISED} that the vendor advises for jobs over many devices (ulimit -n)",)
