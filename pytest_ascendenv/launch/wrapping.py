"""What stands before a command: nohup, env, taskset and their kin, with what they change for it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import lexer
from pytest_ascendenv.launch.values import Value, known

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter

WRAPPERS: dict[str, str] = {
    "nohup": "", "setsid": "", "time": "", "exec": "a", "command": "", "builtin": "", "unbuffer": "", "sudo": "ugC",
    "stdbuf": "ioe", "nice": "n", "ionice": "cn", "timeout": "sk", "numactl": "NCmip", "taskset": "", "env": "uC",
    "chrt": "", "setarch": "", "catchsegv": "", "xvfb-run": "",
}  # fmt: skip
"""Wrapper -> its short options that take the next word."""
OPERANDS = {"timeout": 1, "taskset": 1, "chrt": 1, "setarch": 1}
Additions = dict[str, Value | None]
"""What ``env`` changes: variables it sets, and None for those it removes."""


def asks(words: Sequence[Value]) -> bool:
    """``command -v NAME``, which only looks a program up; ``which`` and ``type`` do too."""
    name = words[0].guess or ""
    option = (words[1].text or "") if len(words) > 1 else ""
    return name in ("type", "which") or (name == "command" and re.match(r"-\w*[vV]", option) is not None)


def unwrap(shell: Interpreter, words: list[Value]) -> tuple[tuple[str, ...], Additions, list[Value]]:
    """The wrappers before a command, what ``env`` changes, and the command."""
    wrappers: list[str] = []
    additions: Additions = {}
    while words and (name := os.path.basename(words[0].guess or "")) in WRAPPERS:
        words, end = _environment(shell, words, additions) if name == "env" else (words, _end(name, words))
        wrappers.append(" ".join([name, *[value.guess if value.guess is not None else "?" for value in words[1:end]]]))
        words = words[end:]
        while words and words[0].splits and words[0].guess == "":
            words = words[1:]
    return tuple(wrappers), additions, words


def _end(name: str, words: Sequence[Value]) -> int:
    at, operands = 1, OPERANDS.get(name, 0)
    if name == "taskset":
        operands = 0 if any((value.guess or "").startswith("--cpu-list=") for value in words[1:3]) else 1
    while at < len(words):
        text = words[at].guess or ""
        if text.startswith("-") and len(text) > 1:
            at += len(text) == 2 and text[1] in WRAPPERS[name]
        elif operands:
            operands -= 1
        else:
            break
        at += 1
    return at


def _environment(shell: Interpreter, words: list[Value], additions: Additions) -> tuple[list[Value], int]:
    """The words with ``-S`` taken apart, and where the command of ``env`` begins."""
    at = 1
    while at < len(words):
        text = _start(words[at])
        if match := lexer.ASSIGNMENT.match(text):
            additions[match[1]] = _rest(words[at], match[0])
        elif text.startswith(("-S", "--split-string")):
            words = _split(shell, words, at)
            continue
        elif text.startswith("-"):
            at += _option(shell, words, at, additions)
        elif not (words[at].splits and words[at].guess == ""):
            break
        at += 1
    return words, at


def _start(value: Value) -> str:
    """The word, or what is known of its start."""
    first = value.parts[0] if value.parts else ""
    return value.guess if value.guess is not None else (first if isinstance(first, str) else "")


def _rest(value: Value, name: str) -> Value:
    first = value.parts[0] if value.parts and isinstance(value.parts[0], str) else ""
    if first.startswith(name):
        return Value((first[len(name) :], *value.parts[1:]), value.source)
    return value


def _option(shell: Interpreter, words: Sequence[Value], at: int, additions: Additions) -> int:
    """Apply one option of ``env``; how many words more it takes."""
    text = words[at].guess or ""
    if text in ("-", "--ignore-environment") or re.match(r"-[0v]*i", text):
        additions.update(dict.fromkeys(shell.run.exported(), None))
    match = re.match(r"(?:-[i0v]*u|--unset)(=?)(.*)", text, re.DOTALL)
    if match is None:
        return int(text in ("-C", "--chdir"))
    name = match[2] or (words[at + 1].text if at + 1 < len(words) else None)
    if name is None:
        shell.state.doubt(f"env -u at {shell.run.here()}, which removes a variable that is not known,")
    else:
        additions[name] = None
    return int(not match[2])


def _split(shell: Interpreter, words: list[Value], at: int) -> list[Value]:
    """``env -S "A=1 torchrun x.py"``: the text is taken apart like a command line."""
    text = re.sub(r"^(-S|--split-string=?)", "", words[at].guess or "")
    rest = words[at + 1 :]
    if not text and rest:
        text, rest = rest[0].text or "$", rest[1:]
    if words[at].text is None or "$" in text or "\\" in text:
        shell.incomplete.append(f"what env -S runs at {shell.run.here()} is not known")
        return words[:at]
    try:
        return [*words[:at], *[known(each, words[at].source) for each in shlex.split(text)], *rest]
    except ValueError as error:
        shell.incomplete.append(f"env -S at {shell.run.here()}: {error}")
        return words[:at]
