"""The builtins that change what a launch gets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand, lexer, reading, sourcing
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.flow import Flow
from pytest_ascendenv.launch.state import Status, Variable, positional
from pytest_ascendenv.launch.values import Value, lift, shorten, unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter


def declare(shell: Interpreter, command: str, tokens: Sequence[lexer.Token]) -> Flow:
    """export, declare, local, readonly: options, then names with or without a value."""
    from pytest_ascendenv.launch import simple

    flags, early = "", [simple.expanded_early(shell, token) for token in tokens]
    shell.state.status = Status.OK
    for token, value in zip(tokens, early, strict=True):
        if re.fullmatch(r"[-+][A-Za-z]+", token.text):
            flags += token.text
        elif lexer.ASSIGNMENT.match(token.text):
            _local(shell, command, token.text)
            for each in _braces(token):
                given = value if each is token else None
                _declared(shell, command, flags, simple.assign(shell, each, "A" in flags, given))
        else:
            for each_value in expand.words(token.text, shell.run):
                _named(shell, command, flags, each_value)
    _reference(shell, command, flags)
    shell.state.status = Status.OK
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
    wanted = "".join(letter for letter in "ilu" if re.search(rf"-\w*{letter}", flags))
    if command == "readonly" or re.search(r"-\w*r", flags):
        wanted += "r"
    removed = "".join(re.findall(r"\+(\w+)", flags))
    if wanted or removed:
        variable = shell.state.variables[name]
        attributes = "".join(each for each in {*variable.attributes, *wanted} if each not in removed)
        variable = variable.mapped(lambda value: shell.run.attributed(value, attributes))
        shell.state.variables[name] = replace(variable, attributes=attributes)


def _reference(shell: Interpreter, command: str, flags: str) -> None:
    """``declare -n``: which variable an assignment changes is not followed."""
    if command != "export" and re.search(r"-\w*n", flags):
        reason = f"{command} -n at {shell.run.here()} makes a reference, which is not followed"
        shell.run.note(reason)
        shell.state.doubt(reason)
        shell.incomplete.append(reason)


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
    elif name not in shell.state.variables and (command == "readonly" or re.search(r"-\w*[ilru]", flags)):
        shell.state.variables[name] = Variable({"0": shell.run.scalar(name) or Value()})
    if name in shell.state.variables:
        _declared(shell, command, flags, name)


def unset(shell: Interpreter, words: list[Value]) -> Flow:
    for value in words:
        name = value.text
        if name is None:
            shell.run.note(f"{shell.run.here()}: which variable is unset here is not known ({value.reason})")
        elif name.startswith("-f"):
            break
        elif not name.startswith("-") and name.endswith("]"):
            _unset_element(shell, name)
        elif not name.startswith("-"):
            shell.run.unset(name)
            shell.state.functions.pop(name, None)
    return Flow.GO


def _unset_element(shell: Interpreter, text: str) -> None:
    from pytest_ascendenv.launch import simple

    name, _, index = text[:-1].partition("[")
    variable = shell.state.variables.get(name)
    if variable is None or not variable.array or index in ("@", "*"):
        shell.run.unset(name)
        return
    key = simple.key_of(shell, name, index)
    if key is not None and key.startswith("-") and not variable.keyed and variable.items:
        key = str(max(int(each) for each in variable.items) + 1 + int(key))
    if key is None:
        shell.state.variables[name] = replace(
            variable, hole=f"which element is unset at {shell.run.here()} is not known"
        )
        return
    items = {each: value for each, value in variable.items.items() if each != key}
    shell.state.variables[name] = replace(variable, items=items)


def set_(shell: Interpreter, words: list[Value]) -> Flow:
    """Options -a, -e and -u, and ``set -- a b``."""
    for number, value in enumerate(words):
        text, option = value.text, (words[number - 1].text or "") if number else ""
        if text is not None and re.fullmatch(r"[-+][a-zA-Z]+", text):
            _letters(shell, text)
        elif text is not None and re.fullmatch(r"[-+][a-zA-Z]*o", option):
            _letters(shell, option[0] + OPTIONS.get(text, ""))
        else:
            shell.state.args, shell.state.args_hole = positional(words[number + (text == "--") :])
            break
    return Flow.GO


OPTIONS = {"errexit": "e", "nounset": "u", "allexport": "a", "pipefail": "|"}


def _letters(shell: Interpreter, text: str) -> None:
    state, on = shell.state, text[0] == "-"
    state.errexit = on if "e" in text else state.errexit
    state.nounset = on if "u" in text else state.nounset
    state.allexport = on if "a" in text else state.allexport
    state.pipefail = on if "|" in text else state.pipefail


def trap(shell: Interpreter, words: list[Value]) -> Flow:
    """``trap code EXIT``: the code runs at the end; other signals are not the normal course."""
    words = [value for value in words if value.text not in ("--", "-p", "-l")]
    if not any(value.text in ("EXIT", "0", None) for value in words[1:]):
        return Flow.GO
    code = words[0].text
    if code is None:
        shell.incomplete.append(f"what the trap at {shell.run.here()} runs at the end is not known")
    shell.state.trap = ("" if code in ("-", None) else code, "")
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
    _entered(shell, target, absolute)
    shell.state.cwd = lift(inputs, lambda text, base="/": os.path.normpath(os.path.join(base, text)))
    return Flow.GO


def _entered(shell: Interpreter, target: Value, absolute: bool) -> None:
    """A folder beside the script that is missing: under set -e the script ends there."""
    base, name = shell.state.cwd.text, target.text
    if not shell.state.errexit or shell.deciding or absolute or base is None or not name:
        return
    if not os.path.isdir(os.path.join(base, name)):
        shell.run.note(f"{shell.run.here()}: set -e is on and {name} is missing here, so the script may end")
        condition = f"the folder {name} exists ({shell.run.here()})"
        shell.state.conditions = (*shell.state.conditions, condition)


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
    _levels(shell, words)
    return Flow.BREAK


def continue_(shell: Interpreter, words: list[Value]) -> Flow:
    _levels(shell, words)
    return Flow.CONTINUE


def _levels(shell: Interpreter, words: list[Value]) -> None:
    """``break 2`` leaves two loops, at most all there are."""
    count = words[0].text if words else "1"
    if count is None or not count.isdigit():
        shell.incomplete.append(f"how many loops are left at {shell.run.here()} is not known")
        count = "1"
    shell.state.levels = max(min(int(count), len(shell.loops)) - 1, 0)


def true(shell: Interpreter, words: list[Value]) -> Flow:
    return Flow.GO


def false(shell: Interpreter, words: list[Value]) -> Flow:
    shell.state.status, shell.state.code = Status.FAILED, "1"
    return Flow.GO


Builtin = Callable[["Interpreter", list[Value]], Flow]
TABLE: dict[str, Builtin] = {
    "unset": unset, "set": set_, "shift": shift, "cd": cd, "pushd": pushd, "popd": popd, "let": let,
    "read": reading.read,
    "mapfile": reading.mapfile, "readarray": reading.mapfile, "getopts": reading.getopts,
    "eval": eval_, "exit": exit_, "return": return_,
    "break": break_, "continue": continue_, "true": true, ":": true, "false": false, "source": sourcing.source,
    ".": sourcing.source, "trap": trap, "wait": true, "shopt": true, "ulimit": true, "umask": true, "alias": true,
    "hash": true,
}  # fmt: skip
