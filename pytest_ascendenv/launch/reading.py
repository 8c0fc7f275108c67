"""The builtins that take texts apart: read, mapfile, getopts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand
from pytest_ascendenv.launch.flow import Flow
from pytest_ascendenv.launch.state import Status
from pytest_ascendenv.launch.values import Value, known, lift, unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter


def read(shell: Interpreter, words: list[Value]) -> Flow:
    """``read`` from a here-string or a pipe is decidable, from a file or a person not."""
    names, array, takes = [], "", ""
    for value in words:
        text = value.text or ""
        if takes:
            array = text if takes == "a" else array
            takes = ""
        elif text.startswith("-"):
            takes = text[-1] if text[-1] in "apdnNtu" else ""
        else:
            names.append(text)
    if shell.stdin is not None and shell.stdin.text == "":
        shell.state.status, shell.state.code = Status.FAILED, "1"
        for name in names:
            shell.run.assign(name, known(""))
        return Flow.GO
    line = _line(shell.stdin)
    if line is not None and shell.stdin is not None:
        shell.stdin = lift([shell.stdin], lambda text: text.partition("\n")[2])
    if line is None:
        reason = "read at run time"
        shell.state.status = Status.OPEN
        for name in names or ["REPLY"]:
            shell.run.assign(name, unknown(reason))
        if array:
            shell.run.assign_array(array, [], False, False)
            shell.state.variables[array] = replace(shell.state.variables[array], hole=reason)
        return Flow.GO
    fields = expand.fields(expand.of(line, False), expand.separators(shell.run))
    if array:
        shell.run.assign_array(array, [(str(i), each) for i, each in enumerate(fields)], False, False)
    _distribute(shell, names, fields, line)
    return Flow.GO


def _line(stdin: Value | None) -> Value | None:
    """The first line of what is read, where it is known to be all of it."""
    if stdin is None or (stdin.text is None and stdin.guess is None):
        return None
    return lift([stdin], lambda text: text.split("\n", 1)[0])


def _distribute(shell: Interpreter, names: Sequence[str], fields: list[Value], line: Value) -> None:
    for number, name in enumerate(names):
        if number == len(names) - 1 and len(fields) > len(names):
            ifs = expand.separators(shell.run)
            shell.run.assign(name, lift([line], lambda text, ifs=ifs, skip=number: expand.remainder(text, ifs, skip)))
        else:
            shell.run.assign(name, fields[number] if number < len(fields) else known(""))


def mapfile(shell: Interpreter, words: list[Value]) -> Flow:
    name = (words[-1].text if words else None) or "MAPFILE"
    text = shell.stdin.text if shell.stdin is not None else None
    if text is not None and any(value.text == "-t" for value in words):
        shell.run.assign_array(name, [(str(i), known(each)) for i, each in enumerate(text.splitlines())], False, False)
        return Flow.GO
    shell.run.assign_array(name, [], False, False)
    shell.state.variables[name] = replace(shell.state.variables[name], hole="read from a file at run time")
    return Flow.GO


def getopts(shell: Interpreter, words: list[Value]) -> Flow:
    """One option of the positional parameters (or of the words behind the name)."""
    if len(words) < 2 or words[0].text is None or words[1].text is None:
        shell.state.status = Status.OPEN
        return Flow.GO
    wanted, name = words[0].text, words[1].text
    args = words[2:] or shell.state.args
    position = shell.run.scalar("OPTIND")
    index = int(position.text or 1) if position is not None and (position.text or "").isdigit() else 1
    if shell.state.args_hole or (index <= len(args) and args[index - 1].text is None):
        shell.state.status = Status.OPEN
        shell.run.assign(name, unknown("an option of unknown arguments"))
        return Flow.GO
    text = args[index - 1].text if index <= len(args) else None
    if text is None or not re.match(r"-[^-]", text):
        shell.run.assign(name, known("?"))
        shell.state.status = Status.FAILED
        return Flow.GO
    return _option(shell, name, wanted, text, args, index)


def _option(shell: Interpreter, name: str, wanted: str, text: str, args: Sequence[Value], index: int) -> Flow:
    letter, rest = text[1], text[2:]
    place = wanted.find(letter)
    if place >= 0 and wanted[place + 1 : place + 2] == ":":
        value = known(rest) if rest else (args[index] if index < len(args) else known(""))
        shell.run.assign("OPTARG", value)
        index += 0 if rest else 1
    shell.run.assign(name, known(letter if place >= 0 else "?"))
    shell.run.assign("OPTIND", known(str(index + 1)))
    return Flow.GO
