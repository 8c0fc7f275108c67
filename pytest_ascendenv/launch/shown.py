"""Launches as JSON and as text for people; values of secret-looking variables and flags are not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_ascendenv.launch.model import Launch, Word
from pytest_ascendenv.launch.subjects import Described, Description

HIDDEN = "(hidden)"
SECRETS = frozenset(
    ["TOKEN", "KEY", "APIKEY", "SECRET", "PASSWORD", "PASSWD", "PASS", "CREDENTIAL", "CREDENTIALS", "AUTH"]
)
USERINFO = re.compile(r"(\w+://)[^/@\s:]+(:[^/@\s]*)?@")


def secret(name: str) -> bool:
    """Whether a name (HF_TOKEN, --wandb-api-key) says that its value is nobody's business."""
    return bool(SECRETS & set(re.split(r"[^A-Z0-9]+", name.upper())))


def as_dict(description: Description) -> dict[str, Any]:
    """The form of ``facts --json``."""
    return {"launches": [_launch(each) for each in description.launches], "notes": list(description.notes)}


def _launch(described: Described) -> dict[str, Any]:
    launch = described.launch
    facts = {name: fact.as_dict() for name, fact in described.facts.items()}
    if launch is None:
        return {"launcher": None, "program": None, "argv": [], "env": {}, "facts": facts, "condition": ""}
    return {
        "launcher": launch.launcher,
        "program": launch.program,
        "argv": [word.as_dict() for word in _argv(launch)],
        "env": {name: _masked(name, word).as_dict() for name, word in sorted(launch.env.items())},
        "facts": facts,
        "condition": launch.condition,
        "source": launch.source,
        "wrappers": list(launch.wrappers),
        "framework": described.framework,
    }


def _masked(name: str, word: Word) -> Word:
    value = HIDDEN if secret(name) and word.value else word.value
    return Word(value if value is None else USERINFO.sub(r"\1…@", value), word.status, word.source, word.reason)


def _argv(launch: Launch) -> Iterator[Word]:
    flag = ""
    for word in launch.argv:
        text = word.value or ""
        name, equals, _ = text.partition("=")
        if equals and secret(name):
            yield Word(f"{name}={HIDDEN}", word.status, word.source, word.reason)
        elif flag and not text.startswith("-"):
            yield _masked(flag, word)
        else:
            yield _masked("", word)
        flag = name if text.startswith("-") and not equals else ""


def as_text(description: Description) -> str:
    """A table of facts a launch, with the notes at the end."""
    lines: list[str] = []
    for described in _unlike(description):
        lines += [*_head(described), *(f"  {fact}" for fact in described.facts.values()), ""]
    if not description.launches:
        lines += ["no launch found", ""]
    lines += [f"note: {note}" for note in description.notes]
    if description.incomplete:
        lines.append(f"not read whole: {description.incomplete}")
    return "\n".join(lines).rstrip()


def _unlike(description: Description) -> list[Described]:
    """Launches that differ in nothing shown here (one a device, in a loop) are told once."""
    unique: dict[str, Described] = {}
    for each in description.launches:
        unique.setdefault("\n".join([*_head(each), *map(str, each.facts.values())]), each)
    return list(unique.values())


def _head(described: Described) -> list[str]:
    if described.launch is None:
        return [f"{described.name}  [{described.framework}]"]
    head = [f"{described.name}  [{described.framework}]"]
    head += [f"  behind: {wrapper}" for wrapper in described.launch.wrappers]
    head += [f"  only if {described.launch.condition}"] if described.launch.condition else []
    return head
