"""One reading of a script: its limits, its notes and the variables as the expansions see them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_ascendenv.launch.state import State, Variable
from pytest_ascendenv.launch.text import Source
from pytest_ascendenv.launch.values import Value, known, lift, limited, unknown

STEPS = 40_000  # commands and values handled; the longest of 4268 public scripts needs some 3000
LAUNCHES = 512

RUN_TIME = frozenset(
    [
        *(
            "HOME",
            "USER",
            "HOSTNAME",
            "LOGNAME",
            "SHELL",
            "PATH",
            "RANDOM",
            "SRANDOM",
            "SECONDS",
            "UID",
            "EUID",
            "PPID",
        ),
        *("BASHPID", "LANG", "TERM", "EPOCHSECONDS", "LINENO", "LD_LIBRARY_PATH", "PYTHONPATH", "OSTYPE", "HOSTTYPE"),
        *("BASH_VERSION", "BASH_COMMAND", "FUNCNAME", "TMPDIR", "LD_PRELOAD", "_"),
    ]
)
"""Set by the shell, the login or the toolkit's set_env.sh: never absent, never known here."""

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class TooMuch(Exception):
    """The script needs more than a limit allows; ``str(error)`` says which."""


@dataclass
class Run:
    """What all parts of the interpreter share. ``substitute`` runs the text of a ``$(...)`` and gives its output."""

    state: State
    notes: list[str] = field(default_factory=list)
    launches: list[Any] = field(default_factory=list)
    files: dict[str, Source] = field(default_factory=dict)
    substitute: Callable[[str], Value] = lambda text: unknown("not run")
    steps: int = 0
    name: str = ""
    line: int = 1
    word_line: int = 0  # lines between the start of the command and the word at hand
    fixed: bool = False  # all of the text stands on one line (eval, a substitution)
    invoked: Value = field(default_factory=Value)
    mended: list[str] = field(default_factory=list)  # why Bash takes a file otherwise than it is read
    pending: set[str] = field(default_factory=set)  # exported by name before they are set

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > STEPS:
            raise TooMuch(f"more than {STEPS} steps")

    def here(self, offset: int = 0) -> str:
        return f"{self.name}:{self.line + offset}"

    def within(self, newlines: int) -> str:
        """The place so many lines into the word at hand."""
        return self.here() if self.fixed else self.here(self.word_line + newlines)

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < 200:
            self.notes.append(text)

    # -- variables --------------------------------------------------------------------------------------------------

    def absent(self, name: str) -> bool:
        """Neither the script nor the user sets it: only the calling environment could."""
        return name not in self.state.variables and name not in RUN_TIME and name not in SHELL

    def scalar(self, name: str) -> Value | None:
        """The value of ``$name``; None where it is surely not set."""
        if name in self.state.variables:
            return self.state.variables[name].scalar
        if name in SHELL:
            return SHELL[name](self)
        if name in RUN_TIME:
            return unknown(f"${name} is only known at run time")
        if self.state.taint:
            return unknown(f"{name} may be set by {self.state.taint}")
        return unknown(f"the calling environment does not set {name}", "")

    def elements(self, name: str) -> list[Value] | str:
        """The elements of an array, or the reason why they are not known."""
        variable = self.state.variables.get(name)
        if variable is None:
            value = self.scalar(name)
            return [] if value is None else ([value] if value.known or value.guess != "" else [])
        if variable.hole:
            return variable.hole
        return [value for _, value in sorted(variable.items.items(), key=lambda item: _order(item[0]))]

    def assign(self, name: str, value: Value, append: bool = False, key: str | None = None) -> None:
        """``name=value``, ``name+=value``, ``name[key]=value``; the source is the present line unless it has one."""
        before = self.state.variables.get(name, Variable())
        if "r" in before.attributes:
            self.refused(name)
            return
        if before.unset:
            before = replace(before, unset=False, items={})
        index = key if key is not None else "0"
        if append and (old := self.scalar(name) if key is None else before.items.get(index)) is not None:
            plus = ("+",) if "i" in before.attributes else ()
            value = Value((*old.parts, *plus, *value.parts), value.source)
        value = self.attributed(value, before.attributes)
        value = limited(value if value.source else value.at(self.here()))
        self.spend(1 + sum(len(part) for part in value.parts if isinstance(part, str)) // 512)
        items = {**before.items, index: value} if before.array or key is not None else {"0": value}
        old_value = before.items.get("0")
        earlier = before.earlier
        if old_value is not None and old_value.parts != value.parts and not append:
            earlier = (*earlier[-3:], old_value)
        self.state.variables[name] = replace(
            before,
            items=items,
            array=before.array or key is not None,
            earlier=earlier,
            exported=before.exported or name in self.pending or self.state.allexport,
        )

    def attributed(self, value: Value, attributes: str) -> Value:
        """A value as ``declare -i``, ``-l`` and ``-u`` keep it."""
        from pytest_ascendenv.launch.arithmetic import evaluate

        if "i" in attributes:
            value = evaluate(value, self).at(value.source)
        for letter, change in (("l", str.lower), ("u", str.upper)):
            if letter in attributes:
                value = lift([value], change, value.source)
        return value

    def refused(self, name: str) -> None:
        """An assignment to a readonly variable: the old value stays, and Bash leaves the command."""
        self.note(f"{self.here()}: {name} is readonly, so Bash refuses this assignment")
        condition = f"the shell goes on behind {self.here()}, where {name} is readonly"
        if condition not in self.state.conditions:
            self.state.conditions = (*self.state.conditions, condition)

    def assign_array(self, name: str, values: list[tuple[str, Value]], keyed: bool, append: bool) -> None:
        before = self.state.variables.get(name, Variable())
        items = dict(before.items) if append and not before.unset else {}
        items.update((key, value if value.source else value.at(self.here())) for key, value in values)
        self.spend(1 + len(items) // 16)
        self.state.variables[name] = replace(
            before,
            items=items,
            array=True,
            keyed=keyed or before.keyed,
            unset=False,
            hole=before.hole if append else "",
        )

    def unset(self, name: str) -> None:
        if "r" in self.state.variables.get(name, Variable()).attributes:
            self.refused(name)
            return
        self.state.variables[name] = Variable(unset=True)

    def export(self, name: str, on: bool = True) -> None:
        variable = self.state.variables.get(name)
        if variable is not None:
            self.state.variables[name] = replace(variable, exported=on)

    def exported(self) -> dict[str, Variable]:
        return {name: var for name, var in self.state.variables.items() if var.exported and not var.array}


def _order(key: str) -> tuple[int, Any]:
    return (0, int(key)) if re.fullmatch(r"-?\d+", key, re.ASCII) else (1, "")


SHELL: dict[str, Callable[[Run], Value | None]] = {
    "PWD": lambda run: run.state.cwd,
    "IFS": lambda run: known(" \t\n"),
    "BASH_SOURCE": lambda run: run.invoked,
    "OPTIND": lambda run: known("1"),
    "BASH": lambda run: known("/bin/bash"),
    "SHLVL": lambda run: unknown("$SHLVL is only known at run time"),
}
