"""Simple commands: assignments, redirections, words; then a function, a builtin, a launch or a program not run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import builtins, conditions, expand, filters, launching, lexer, wrapping
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.expand import quotes_off
from pytest_ascendenv.launch.flow import Flow
from pytest_ascendenv.launch.state import Status, Variable
from pytest_ascendenv.launch.text import original
from pytest_ascendenv.launch.values import Value, known, shorten, unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter

DESCRIPTOR = re.compile(r"\{\w+\}")  # exec {log}>file opens a file
DECLARE = frozenset(["export", "declare", "typeset", "local", "readonly"])


@dataclass
class Parsed:
    """A command before expansion."""

    assignments: list[lexer.Token]
    words: list[lexer.Token]
    redirections: list[tuple[str, str, str]]  # descriptor, operator, target


def execute(shell: Interpreter, text: str, heredoc: Value | None = None) -> Flow:
    """One simple command, given as its text."""
    shell.run.spend(1 + len(text) // 4096)
    if text.startswith("[["):
        inner = text[2:].rstrip().removesuffix("]]")
        return _tested(shell, conditions.double(inner, shell.run), inner)
    if text.startswith("(("):
        return arithmetic(shell, text[2:].rstrip().removesuffix("))"))
    try:
        commands = parse(text)
    except lexer.Malformed as error:
        where = shell.run.here()
        shell.run.note(f"{where}: syntax error ({error}); what it swallows is unverified")
        shell.state.doubt(f"the syntax error at {where}")
        return Flow.GO
    for command in commands[:-1]:
        if (flow := _parsed(shell, command, text, None)) is not Flow.GO:
            return flow
    return _parsed(shell, commands[-1], text, heredoc)


def parse(text: str) -> list[Parsed]:
    """The commands of a text: one, or more where the tree runs over the end of a line (behind ``A=\\ ``)."""
    result = Parsed([], [], [])
    found = [result]
    tokens = lexer.tokens(text)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.word:
            leading = not result.words and lexer.ASSIGNMENT.match(token.text)
            (result.assignments if leading else result.words).append(token)
        elif token.text in lexer.REDIRECTIONS:
            descriptor = ""
            if token.glued and result.words and result.words[-1].text.isdigit():
                descriptor = result.words.pop().text
            target = tokens[at].text if at < len(tokens) and tokens[at].word else ""
            at += bool(target)
            result.redirections.append((descriptor, token.text, target))
        elif token.text == "\n" and at < len(tokens):
            result = Parsed([], [], [])
            found.append(result)
        elif token.text != "\n":
            break  # "| tee" behind a here-document: what follows only sees the output
    return found


def _parsed(shell: Interpreter, parsed: Parsed, text: str, heredoc: Value | None) -> Flow:
    if not parsed.words:
        return _assign_all(shell, parsed.assignments)
    first = parsed.words[0].text
    if first in DECLARE:
        return builtins.declare(shell, first, parsed.words[1:])
    if first in ("time", "!", "coproc") and len(parsed.words) > 1:
        parsed.words.pop(0)
    words = expanded(shell, parsed.words)
    before, before_out = shell.stdin, shell.out
    redirected = heredoc is not None or any(sign.startswith("<") for _, sign, _ in parsed.redirections)
    if redirected:
        shell.stdin = heredoc if heredoc is not None else input_of(shell, [], parsed.redirections)
    if shell.out is not None and any(_takes_output(each) for each in parsed.redirections):
        shell.out = []
    try:
        return dispatch(shell, words, parsed.assignments, text)
    finally:
        shell.stdin = before if redirected else shell.stdin
        shell.out = before_out


def _takes_output(redirection: tuple[str, str, str]) -> bool:
    descriptor, sign, _ = redirection
    return descriptor in ("", "1") and (sign.startswith(">") or sign.startswith("&>"))


def expanded(shell: Interpreter, tokens: Sequence[lexer.Token]) -> list[Value]:
    found = []
    for token in tokens:
        where = shell.run.here(0 if shell.script.fixed else token.line)
        shell.run.word_line = token.line
        found += [value if value.source else value.at(where) for value in expand.words(token.text, shell.run)]
    shell.run.spend(len(found) // 64)
    return found


def input_of(
    shell: Interpreter, texts: Sequence[str], redirections: Sequence[tuple[str, str, str]] = ()
) -> Value | None:
    """What a command reads: a here-string is known, a file is not."""
    for text in texts:
        redirections = [*redirections, *parse(text)[0].redirections]
    for _, sign, target in redirections:
        if sign == "<<<":
            value = expand.scalar(target, shell.run)
            return Value((*value.parts, "\n"), value.source)
        if sign == "<":
            return unknown(f"the contents of {shorten(original(target))} are only known at run time")
    return shell.stdin


def _assign_all(shell: Interpreter, tokens: Sequence[lexer.Token]) -> Flow:
    shell.state.status = Status.OK
    for token in tokens:
        assign(shell, token)
    return Flow.GO


def expanded_early(shell: Interpreter, token: lexer.Token) -> Value | None:
    """The value of ``export A=…``, which is expanded before any of its names is assigned; None for an array."""
    match = lexer.ASSIGNMENT.match(token.text)
    if match is None or token.text[match.end() :].startswith("("):
        return None
    shell.run.word_line = token.line
    return expand.scalar(token.text[match.end() :], shell.run)


def assign(shell: Interpreter, token: lexer.Token, keyed: bool = False, early: Value | None = None) -> str:
    """``name=…`` in any form; gives the name."""
    match = lexer.ASSIGNMENT.match(token.text)
    assert match is not None
    name, index, sign = match.groups()
    rest, append = token.text[match.end() :], sign == "+="
    run, source = shell.run, shell.run.here(0 if shell.script.fixed else token.line)
    run.word_line = token.line
    if rest.startswith("(") and index is None:
        _assign_array(shell, name, rest[1:-1], keyed, append, source)
        return name
    value = (expand.scalar(rest, run) if early is None else early).at(source)
    key = None if index is None else key_of(shell, name, index[1:-1])
    if index is not None and key is None:
        run.state.forget(name, f"{source}: which element is assigned is not known")
        return name
    run.assign(name, value, append, key)
    return name


def key_of(shell: Interpreter, name: str, index: str) -> str | None:
    variable = shell.state.variables.get(name)
    if variable is not None and variable.keyed:
        return expand.scalar(index, shell.run).text
    return evaluate(quotes_off(index, shell.run), shell.run).text


def _assign_array(shell: Interpreter, name: str, text: str, keyed: bool, append: bool, source: str) -> None:
    before = shell.state.variables.get(name)
    position = 0
    if append and before is not None and before.items:
        position = max([int(key) for key in before.items if key.lstrip("-").isdigit()], default=-1) + 1
    items: list[tuple[str, Value]] = []
    start = shell.run.word_line
    for token in lexer.words(text):
        shell.run.word_line = start + token.line
        if token.text.startswith("[") and "]=" in token.text:
            index, _, word = token.text[1:].partition("]=")
            key = expand.scalar(index, shell.run).text or index
            position = int(key) + 1 if key.isdigit() else position
            items.append((key, expand.scalar(word, shell.run).at(source)))
            continue
        for value in expand.words(token.text, shell.run):
            if value.splits:
                shell.run.assign_array(name, [], keyed, append)
                variable = shell.state.variables[name]
                shell.state.variables[name] = replace(variable, hole=value.reason)
                return
            items.append((str(position), value.at(value.source or source)))
            position += 1
    shell.run.assign_array(name, items, keyed, append)


def arithmetic(shell: Interpreter, text: str) -> Flow:
    shell.state.status = shell.arithmetic_truth(text)
    return Flow.GO


def _tested(shell: Interpreter, outcome: bool | None, terms: Sequence[Value] | str) -> Flow:
    shell.state.likely = conditions.likely(terms, shell.run) if outcome is None else None
    shell.state.status = {True: Status.OK, False: Status.FAILED, None: Status.OPEN}[outcome]
    shell.state.code = "1"
    return Flow.GO


# -- what a command is -----------------------------------------------------------------------------------------------


def dispatch(shell: Interpreter, words: list[Value], assignments: Sequence[lexer.Token], text: str) -> Flow:
    while words and words[0].splits and words[0].guess == "":
        words = words[1:]
    if not words:
        shell.state.status = Status.OK
        return _assign_all(shell, assignments)
    name = words[0].text if words[0].known else words[0].guess
    if name in ("[", "test"):
        inner = words[1:-1] if name == "[" else words[1:]
        return _tested(shell, conditions.single(inner, shell.run), inner)
    if name in shell.state.functions and name is not None:
        function = shell.state.functions[name]
        return with_variables(shell, assignments, lambda: shell.call(function, words[1:]))
    if name in builtins.TABLE and name is not None:
        shell.state.status = Status.OK
        builtin = builtins.TABLE[name]
        return with_variables(shell, assignments, lambda: builtin(shell, words[1:]))
    return with_variables(shell, assignments, lambda: _program(shell, words, name, text))


def with_variables(shell: Interpreter, assignments: Sequence[lexer.Token], action: Callable[[], Flow]) -> Flow:
    """``A=1 command``: A holds for this command only, and the command sees it exported."""
    if not assignments:
        return action()
    before: dict[str, Variable | None] = {}
    for token in assignments:
        name = token.text.split("=")[0].rstrip("+").split("[")[0]
        before.setdefault(name, shell.state.variables.get(name))
        assign(shell, token)
        shell.run.export(name)
    try:
        return action()
    finally:
        for name, variable in before.items():
            if variable is None:
                shell.state.variables.pop(name, None)
            else:
                shell.state.variables[name] = variable


def _program(shell: Interpreter, words: list[Value], name: str | None, text: str) -> Flow:
    shell.state.status = Status.RAN
    if name == "exec" and (rest := wrapping.unwrap(shell, words)[2]) and not DESCRIPTOR.fullmatch(rest[0].guess or ""):
        shell.state.trap = ("", "")  # the program takes the place of the shell
        _launched(shell, words, name, text)
        return Flow.EXIT
    return _launched(shell, words, name, text)


def _launched(shell: Interpreter, words: list[Value], name: str | None, text: str) -> Flow:
    if name is None:
        shell.run.note(f"{shell.run.here()}: the command is not known ({words[0].reason}); it may be a launch")
        shell.emit(unknown(words[0].reason))
        if any((value.guess or "").endswith(".py") for value in words):
            launching.record(shell, "unknown", words, (), {})
        return Flow.GO
    if launching.handle(shell, words):
        return Flow.GO
    if name == "echo":
        shell.emit(filters.echo(words[1:]))
        return Flow.GO
    if name == "printf":
        _printf(shell, words[1:])
        return Flow.GO
    _filtered(shell, name, words, text)
    return Flow.GO


def _printf(shell: Interpreter, words: list[Value]) -> None:
    """``printf format …`` writes, ``printf -v NAME format …`` assigns."""
    option = (words[0].text or "") if words else ""
    if not option.startswith("-v"):
        shell.emit(filters.printf(words))
        return
    target, rest = (known(option[2:]), words[1:]) if option != "-v" else ((words[1:] or [Value()])[0], words[2:])
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(.*)\])?", target.text or "", re.ASCII)
    key = key_of(shell, match[1], match[2]) if match and match[2] else None
    if match is None or (match[2] and key is None):
        shell.state.doubt(f"printf -v at {shell.run.here()}, whose target is not known,")
    else:
        shell.run.assign(match[1], filters.printf(rest).at(shell.run.here()), key=key)
    shell.state.status = Status.OK


def _filtered(shell: Interpreter, name: str, words: list[Value], text: str) -> None:
    if name == "sed":
        _edited(shell, words[1:])
    cwd = shell.state.cwd
    result = filters.output(name, words[1:], shell.stdin, cwd)
    if result is not None:
        shell.emit(result)
        shell.state.status = Status.OK if result.known and name != "expr" else Status.RAN
    elif name not in SILENT:
        shell.emit(unknown(f"`{shorten(original(text))}` is only known at run time"))


def _edited(shell: Interpreter, words: Sequence[Value]) -> None:
    """``sed -i`` on a configuration: what is read here is not what the launch will find."""
    if not any(re.match(r"-\w*i|--in-place", value.guess or "") for value in words):
        return
    for value in words[1:]:
        if value.guess is None or value.guess.endswith((".json", ".yaml", ".yml", ".sh")):
            shell.incomplete.append(f"sed -i at {shell.run.here()} edits {value.guess or 'a file'} before it is used")


SILENT = frozenset(["mkdir", "rm", "sleep", "kill", "pkill", "chmod", "cp", "mv", "ln", "touch", "sync", "sudo"])


def enter(shell: Interpreter) -> None:
    shell.locals.append({})


def leave(shell: Interpreter) -> None:
    for name, variable in shell.locals.pop().items():
        if variable is None:
            shell.state.variables.pop(name, None)
        else:
            shell.state.variables[name] = variable
