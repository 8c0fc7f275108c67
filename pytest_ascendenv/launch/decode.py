"""The encodings of the frameworks: True/'true'/1, 'O2'/True/'bf16', 0/GRAPH_MODE, placeholders."""

from __future__ import annotations

import re
from typing import Any

from pytest_ascendenv.launch.configs import Leaf
from pytest_ascendenv.launch.model import Word
from pytest_ascendenv.launch.tables import NONE, Rule
from pytest_ascendenv.verdict import Fact

PLACEHOLDER = re.compile(
    r"<[^<>]+>|\byour[ _\-/.]|/your|/path[_/]to|/?path/to/|(^|/)x{3,}(/|$)|\$\{?[A-Z]"
    r"|\*{2,}|\.{3}|…|^(todo|none|null)$|您的|你的|路径",
    re.IGNORECASE,
)
UPPER = re.compile(r"^[A-Z][A-Z0-9_]*_(PATH|DIR|FOLDER)$")
MODES = {"0": "GRAPH_MODE", "1": "PYNATIVE_MODE", "graph": "GRAPH_MODE", "graph_mode": "GRAPH_MODE",
         "pynative": "PYNATIVE_MODE", "pynative_mode": "PYNATIVE_MODE"}  # fmt: skip
ON = frozenset(["true", "1", "yes", "on", "sink", "y"])
OFF = frozenset(["false", "0", "no", "off", "not-sink", "non-sink", "n", "normal"])
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16"}


def placeholder(value: str) -> bool:
    """A text that a user was meant to replace."""
    if UPPER.fullmatch(value):
        return True
    return PLACEHOLDER.search(value) is not None and not re.fullmatch(r"[a-z_]+_(path|dir|folder)", value)


def switch(value: Any) -> bool | None:
    text = str(value).strip().lower()
    return True if text in ON else (False if text in OFF else None)


def count(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?\d{1,9}", text, re.ASCII) else None


def mode(value: Any) -> str | None:
    return None if isinstance(value, bool) else MODES.get(str(value).strip().lower())


def amp(value: Any) -> str | None:
    """The level or type as the framework writes it; "off" where mixed precision is off."""
    if value is None:
        return None
    text = str(value).strip()
    if text.upper() in ("O0", "O1", "O2", "O3"):
        return text.upper()
    if text.lower() in ("no", "false", "none", "0"):
        return "off"
    return DTYPES.get(text.lower(), text.lower())


def text(value: Any) -> str | None:
    return None if value is None else str(value)


DECODERS = {"switch": switch, "count": count, "mode": mode, "amp": amp, "text": text}


def plausible(kind: str, value: Any) -> bool:
    """Whether a value can be this fact at all: ``mode: finetune`` is no execution mode."""
    if kind == "mode":
        return mode(value) is not None
    return value is not None


def word(name: str, kind: str, given: Word) -> Fact:
    """A fact from a word of the command line."""
    if given.status == "unknown" or given.value is None:
        return Fact.unknown(name, given.reason or "not known", given.source)
    if kind == "amp" and given.value == "true":
        return Fact(name, "fp16", given.source, given.status, given.reason)
    value = DECODERS[kind](given.value)
    if value is None:
        return _undecoded(name, kind, given.value, given.source)
    if kind == "text" and re.search(r"<[^<>]+>", str(value)):
        return Fact.unknown(name, f"{value!r} is a placeholder", given.source)
    return Fact(name, value, given.source, given.status, given.reason)


def leaf(name: str, kind: str, given: Leaf) -> Fact:
    """A fact from a configuration."""
    value = DECODERS[kind](given.value)
    if value is None:
        return _undecoded(name, kind, given.value, given.source)
    if kind == "amp" and value == "auto" and given.path.endswith(".enabled"):
        return Fact.unknown(name, f"{given.path} is auto, so the program decides", given.source)
    if kind == "amp" and value in ("true", "1"):
        enabled = {"bf16": "bf16", "fp16": "fp16"}
        value = next((enabled[part] for part in reversed(given.path.split(".")) if part in enabled), "fp16")
    return Fact(name, value, given.source)


def _undecoded(name: str, kind: str, value: Any, source: str) -> Fact:
    return Fact.unknown(name, f"{value!r} is no {WANTED.get(kind, kind)}", source)


WANTED = {"count": "number", "switch": "switch (true or false)", "mode": "execution mode (0 or 1)"}


def default(rule: Rule) -> Any:
    """The default of a rule, decoded like a written value."""
    if rule.default is None or rule.default == NONE or rule.kind in ("paths", "text"):
        return rule.default
    return DECODERS[rule.kind](rule.default)
