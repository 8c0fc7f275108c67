"""Variables, functions and options of the interpreted shell, and how two states join after an undecidable branch."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_ascendenv.launch.values import Value, combine, either, known, unknown


class Status(enum.Enum):
    """How the last command ended, as far as it can be told."""

    OK = "ok"
    FAILED = "failed"
    OPEN = "open"  # a test whose outcome depends on what only run time knows
    RAN = "ran"  # a program that is not run here; a script goes on as if it succeeds


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar (its item "0") or an array; ``hole`` is the reason where the contents of an array are not known."""

    items: Mapping[str, Value] = field(default_factory=dict)
    array: bool = False
    keyed: bool = False
    exported: bool = False
    unset: bool = False
    attributes: str = ""  # of "ilru": integer, lower case, readonly, upper case
    hole: str = ""
    earlier: tuple[Value, ...] = ()

    @property
    def scalar(self) -> Value | None:
        if self.hole:
            return unknown(self.hole)
        return self.items.get("0")

    @property
    def source(self) -> str:
        return next((value.source for value in self.items.values()), "")

    def mapped(self, function: Callable[[Value], Value]) -> Variable:
        return replace(self, items={key: function(value) for key, value in self.items.items()})


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the script: its body in the tree, with the file it stands in."""

    body: Any
    file: Any


@dataclass
class State:
    """Everything a subshell copies."""

    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    args: list[Value] = field(default_factory=list)
    args_hole: str = ""
    zero: Value = field(default_factory=lambda: known("bash"))
    cwd: Value = field(default_factory=Value)
    errexit: bool = False
    nounset: bool = False
    allexport: bool = False
    pipefail: bool = False
    levels: int = 0  # loops more that a break or continue leaves
    trap: tuple[str, str] = ("", "")  # the code that runs at the end, and the condition it was set on
    status: Status = Status.OK
    code: str = "1"  # the exit code where the status is FAILED
    likely: bool | None = None  # the outcome of an open test if all conditions hold
    conditions: tuple[str, ...] = ()
    taint: str = ""

    def copy(self) -> State:
        return replace(self, variables=dict(self.variables), functions=dict(self.functions), args=list(self.args))

    def doubt(self, reason: str, concerns: Callable[[str], bool] = lambda name: True, total: bool = True) -> None:
        """Something unreadable may have changed the variables that ``concerns`` names."""
        for name, variable in self.variables.items():
            if concerns(name):
                self.variables[name] = variable.mapped(lambda value: _doubted(value, reason))
        if total:
            self.taint = combine([self.taint, reason])

    def forget(self, name: str, reason: str) -> None:
        """The variable is assigned somewhere that cannot be followed: its value is not known."""
        before = self.variables.get(name, Variable())
        source = before.source
        self.variables[name] = replace(
            before, items={"0": unknown(reason, source=source)}, hole=reason if before.array else "", unset=False
        )


def _doubted(value: Value, reason: str) -> Value:
    why = combine([value.reason, f"unless {reason} changes it"])
    return unknown(why, value.guess, value.source)


def join(first: State, second: State, condition: str) -> State:
    """The state after a branch: ``first`` holds if ``condition`` does, ``second`` otherwise."""
    joined = first.copy()
    for name in {**first.variables, **second.variables}:
        joined.variables[name] = _join(first.variables.get(name), second.variables.get(name), condition)
    if [arg.parts for arg in first.args] != [arg.parts for arg in second.args]:
        joined.args_hole = f"depends on {condition}"
    joined.cwd = either(first.cwd, second.cwd, condition)
    joined.functions = {**second.functions, **first.functions}
    joined.status = first.status if first.status == second.status else Status.OPEN
    joined.taint = combine([first.taint, second.taint])
    joined.errexit = first.errexit and second.errexit
    joined.nounset = first.nounset and second.nounset
    joined.pipefail = first.pipefail and second.pipefail
    if first.allexport != second.allexport:
        joined.allexport = False
        joined.doubt(f"set -a, which depends on {condition},")
    if first.trap != second.trap:
        joined.trap = (first.trap[0] or second.trap[0], condition)
    shared = [a for a, b in zip(first.conditions, second.conditions, strict=False) if a == b]
    joined.conditions = tuple(shared)
    return joined


def _join(first: Variable | None, second: Variable | None, condition: str) -> Variable:
    if first == second and first is not None:
        return first
    one, other = first or Variable(), second or Variable()
    hole = combine([one.hole, other.hole])
    if (one.array or other.array) and not hole and _parts(one) != _parts(other):
        hole = f"differs with {condition}"
    items = {key: either(one.items.get(key), other.items.get(key), condition) for key in {**one.items, **other.items}}
    return Variable(
        items=items,
        array=one.array or other.array,
        keyed=one.keyed or other.keyed,
        exported=one.exported or other.exported,
        unset=not items,
        attributes=one.attributes or other.attributes,
        hole=hole if one.array or other.array else "",
        earlier=one.earlier or other.earlier,
    )


def _parts(variable: Variable) -> dict[str, Any]:
    return {key: value.parts for key, value in variable.items.items()}


def positional(values: list[Value]) -> tuple[list[Value], str]:
    """Positional parameters, or the reason why their number is not known."""
    open_ = [value for value in values if value.splits and not value.guess]
    return [value for value in values if value not in open_], combine(value.reason for value in open_)
