"""The builtins that change what a launch gets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand, lexer, sourcing
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.flow import Flow
from pytest_ascendenv.launch.state import Status, Variable, positional
from pytest_ascendenv.launch.values import Value, known, lift, shorten, unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter


def declare(shell: Interpreter, command: str, tokens: Sequence[lexer.Token]) -> Flow:
    """export, declare, local, readonly: options, then names with or without a value."""
    from pytest_ascendenv.launch import simple

    shell.state.status = Status.OK
    flags = ""
    for token in tokens:
        if re.fullmatch(r"[-+][A-Za-z]+", token.text):
            flags += token.text
        elif lexer.ASSIGNMENT.match(token.text):
            _local(shell, command, token.text)
            for each in _braces(token):
                _declared(shell, command, flags, simple.assign(shell, each, "A" in flags))
        else:
            for value in expand.words(token.text, shell.run):
                _named(shell, command, flags, value)
    return Flow.GO


def _braces(token: lexer.Token) -> list[lexer.Token]:
    """``export A={x,y}`` is ``export A=x A=y``, as braces come first in the words of a command."""
    if "{" not in token.text or "=(" in token.text:
        return [token]
    return [replace(token, text=text) for text in lexer.braces(token.text)]


def _local(shell: Interpreter, command: str, text: str) -> None:
    name = re.split(r"[=+\[]", text)[0]
    if command in ("local", "declare", "typeset") and shell.locals and name not in shell.locals[-1]:
        shell.locals[-1][name] = shell.state.variables.get(name)


def _declared(shell: Interpreter, command: str, flags: str, name: str) -> None:
    if (command == "export" and "n" not in flags) or re.search(r"-\w*x", flags):
        shell.run.export(name)
    elif (command == "export" and "n" in flags) or re.search(r"\+\w*x", flags):
        shell.run.export(name, False)
    if "i" in flags:
        variable = shell.state.variables[name]
        shell.state.variables[name] = variable.mapped(lambda value: evaluate(value, shell.run).at(value.source))


def _named(shell: Interpreter, command: str, flags: str, value: Value) -> None:
    """``export NAME``, or ``export $PAIR`` where the expansion holds the ``=``."""
    text = value.guess
    if text is None:
        shell.run.note(f"{shell.run.here()}: which variable is set here is not known ({value.reason})")
        return
    name, equals, rest = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return
    _local(shell, command, name)
    if equals:
        shell.run.assign(name, lift([value], lambda _: rest, shell.run.here()))
    elif command == "local":
        shell.state.variables[name] = Variable(unset=True, array="a" in flags, keyed="A" in flags)
    elif name not in shell.state.variables and command == "export" and "n" not in flags:
        shell.run.pending.add(name)
        return
    elif name not in shell.state.variables and ("a" in flags or "A" in flags):
        shell.state.variables[name] = Variable(array=True, keyed="A" in flags)
    if name in shell.state.variables:
        _declared(shell, command, flags, name)


def unset(shell: Interpreter, words: list[Value]) -> Flow:
    for value in words:
        name = value.text
        if name is None:
            shell.run.note(f"{shell.run.here()}: which variable is unset here is not known ({value.reason})")
        elif name.startswith("-f"):
            break
        elif not name.startswith("-"):
            shell.run.unset(name.split("[")[0])
            shell.state.functions.pop(name, None)
    return Flow.GO


def set_(shell: Interpreter, words: list[Value]) -> Flow:
    """Options -e and -u, and ``set -- a b``."""
    state = shell.state
    for number, value in enumerate(words):
        text = value.text
        if text is not None and re.fullmatch(r"[-+][a-zA-Z]+", text):
            on = text[0] == "-"
            state.errexit = on if "e" in text else state.errexit
            state.nounset = on if "u" in text else state.nounset
        elif text == "errexit" and number:
            state.errexit = words[number - 1].text == "-o"
        elif text == "nounset" and number:
            state.nounset = words[number - 1].text == "-o"
        elif text == "pipefail":
            continue
        else:
            state.args, state.args_hole = positional(words[number + (text == "--") :])
            break
    return Flow.GO


def shift(shell: Interpreter, words: list[Value]) -> Flow:
    count = words[0].text if words else "1"
    if count is None or not count.isdigit():
        shell.state.args_hole = "shifted by an unknown number"
    elif int(count) > len(shell.state.args):
        shell.state.status = Status.FAILED
    else:
        del shell.state.args[: int(count)]
    return Flow.GO


def cd(shell: Interpreter, words: list[Value]) -> Flow:
    shell.state.status = Status.RAN
    operands = [value for value in words if not (value.text or "").startswith("-") or value.text == "-"]
    if not operands or operands[0].text == "-":
        shell.state.cwd = unknown("the directory of a bare cd is only known at run time")
        return Flow.GO
    target = operands[0]
    absolute = bool(target.parts) and isinstance(target.parts[0], str) and target.parts[0].startswith("/")
    inputs = [target] if absolute else [target, shell.state.cwd]
    shell.state.cwd = lift(inputs, lambda text, base="/": os.path.normpath(os.path.join(base, text)))
    return Flow.GO


def pushd(shell: Interpreter, words: list[Value]) -> Flow:
    return cd(shell, words)


def popd(shell: Interpreter, words: list[Value]) -> Flow:
    shell.state.cwd = unknown("the directory after popd is not followed")
    return Flow.GO


def let(shell: Interpreter, words: list[Value]) -> Flow:
    for value in words:
        result = evaluate(value, shell.run)
        outcome = None if result.text is None else result.text != "0"
        shell.state.status = {True: Status.OK, False: Status.FAILED, None: Status.OPEN}[outcome]
    return Flow.GO


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


def eval_(shell: Interpreter, words: list[Value]) -> Flow:
    text = expand.merged([part for i, value in enumerate(words) for part in ((" ",) if i else ()) + value.parts])
    if text.text is not None:
        return shell.text(text.text, shell.run.name, shell.run.line, fixed=True)
    guess = text.guess
    where = f"the eval at {shell.run.here()}"
    if guess is not None:
        condition = f"{text.reason} ({where})"
        shell.run.note(f"{shell.run.here()}: eval of a text that is only likely ({text.reason})")
        return shell.fork(
            lambda: shell.text(guess, shell.run.name, shell.run.line, fixed=True), lambda: Flow.GO, condition
        )
    return _evaluated_blind(shell, text, where)


def _evaluated_blind(shell: Interpreter, text: Value, where: str) -> Flow:
    """An eval whose text has gaps: a launch in it is still a launch, with gaps."""
    from pytest_ascendenv.launch import simple

    first = next((part for part in text.parts if isinstance(part, str)), "")
    fields = expand.fields(expand.of(text, False), " \t\n")
    leading = fields and fields[0].text is not None and "conda" not in first
    if leading and not re.search(r"[;&|\n]", "".join(part for part in text.parts if isinstance(part, str))):
        assignments = []
        while fields and fields[0].text and lexer.ASSIGNMENT.match(fields[0].text):
            assignments.append(lexer.Token(fields.pop(0).text or "", True))
        words = [value if value.source else value.at(shell.run.here()) for value in fields]
        return simple.dispatch(shell, words, assignments, "eval")
    shell.run.note(f"{shell.run.here()}: eval of a text that is not known ({shorten(text.reason)})")
    if sourcing.VENDOR.search(text.reason):
        shell.state.doubt(where, sourcing.vendor_variable, total=False)
    else:
        shell.state.doubt(where)
    return Flow.GO


def exit_(shell: Interpreter, words: list[Value]) -> Flow:
    code = words[0].guess if words else ""
    shell.run.note(f"{shell.run.here()}: the script ends here (exit{' ' + code if code else ''})" + _given(shell))
    return Flow.EXIT


def _given(shell: Interpreter) -> str:
    conditions = " and ".join(shell.state.conditions)
    return f" if {conditions}" if conditions else ""


def return_(shell: Interpreter, words: list[Value]) -> Flow:
    codes = {"0": Status.OK, None: Status.OPEN}
    if words:
        shell.state.status = codes.get(words[0].text, Status.FAILED)
        shell.state.code = words[0].text or "1"
    return Flow.RETURN


def break_(shell: Interpreter, words: list[Value]) -> Flow:
    return Flow.BREAK


def continue_(shell: Interpreter, words: list[Value]) -> Flow:
    return Flow.CONTINUE


def true(shell: Interpreter, words: list[Value]) -> Flow:
    return Flow.GO


def false(shell: Interpreter, words: list[Value]) -> Flow:
    shell.state.status, shell.state.code = Status.FAILED, "1"
    return Flow.GO


Builtin = Callable[["Interpreter", list[Value]], Flow]
TABLE: dict[str, Builtin] = {
    "unset": unset, "set": set_, "shift": shift, "cd": cd, "pushd": pushd, "popd": popd, "let": let, "read": read,
    "mapfile": mapfile, "readarray": mapfile, "getopts": getopts, "eval": eval_, "exit": exit_, "return": return_,
    "break": break_, "continue": continue_, "true": true, ":": true, "false": false, "source": sourcing.source,
    ".": sourcing.source, "trap": true, "wait": true, "shopt": true, "ulimit": true, "umask": true, "alias": true,
    "hash": true,
}  # fmt: skip
