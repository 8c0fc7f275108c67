"""The words every layer speaks: facts, findings, verdicts, checks."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pytest_ascendenv.environment import AscendEnv

Status = Literal["known", "unset", "unknown", "conditional"]
Severity = Literal["error", "warning", "info"]


class Verdict(enum.Enum):
    """What a precondition says of the facts; ``UNKNOWN`` is "could not tell", never a pass."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Unknown(Exception):
    """A fact could not be obtained; ``str(error)`` is the reason, for people."""


@dataclass(frozen=True)
class Fact:
    """One observed value with where it was read.

    ``status`` is "known", "unset" (``value`` is then the default that applies), "unknown" (``reason`` says why and
    ``value`` is None) or "conditional" (``reason`` is the condition under which ``value`` holds).
    ``source`` is a file:line, a /proc path, a call site or the name of an interface.
    """

    name: str
    value: Any
    source: str = ""
    status: Status = "known"
    reason: str = ""

    @classmethod
    def unset(cls, name: str, default: Any, source: str = "", reason: str = "") -> Fact:
        return cls(name, default, source, "unset", reason)

    @classmethod
    def unknown(cls, name: str, reason: str, source: str = "") -> Fact:
        return cls(name, None, source, "unknown", reason)

    def get(self) -> Any:
        """The value; raises Unknown with the reason where it could not be obtained."""
        if self.status == "unknown":
            raise Unknown(f"{self.name}: {self.reason}")
        return self.value

    def as_dict(self) -> dict[str, Any]:
        """What the commands print as JSON."""
        return {"status": self.status, "value": self.value, "source": self.source, "reason": self.reason}

    def __str__(self) -> str:
        if self.status == "unknown":
            text = f"{self.name}: unknown ({self.reason})"
        elif self.status == "unset":
            text = f"{self.name}: not set" + (f", so {self.value}" if self.value is not None else "")
        else:
            text = f"{self.name}: {self.value}" + (f" if {self.reason}" if self.status == "conditional" else "")
        return f"{text}  [{self.source}]" if self.source else text


@dataclass(frozen=True)
class Finding:
    """What one precondition says of the facts.

    ``expected`` and ``found`` are phrases that read well after those words; ``subject`` says what the facts are about
    ("this process", "this host", "test_x", "train.py"); ``evidence`` holds the facts used; ``notes`` are warnings that
    stand beside the verdict, whichever it is; ``detail`` is a preformatted block (a table); ``reference`` is a document
    a reader can look up. ``severity`` tells how much a failure weighs.
    """

    precondition: str
    verdict: Verdict
    expected: str
    found: str
    subject: str = "this host"
    evidence: tuple[Fact, ...] = ()
    cause: str = ""
    fix: str = ""
    reference: str = ""
    notes: tuple[str, ...] = ()
    detail: str = ""
    severity: Severity = "error"


class Check(Protocol):
    """A precondition: how its arguments are read and how facts are judged. It reads nothing itself.

    ``name`` is the marker, the settings key, the item and the code in reports. ``when`` says when a marked test is
    judged: "before" its body (the host) or "after" it (what the test did).
    """

    name: str
    when: Literal["before", "after"]

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The arguments of the marker or of the settings key as one value.

        Raises ValueError or TypeError whose text says what was found and what is allowed.
        """

    def judge(self, wanted: Any, env: AscendEnv) -> Finding:
        """Judge the facts of ``env``; raises Unknown where a needed fact could not be obtained."""
