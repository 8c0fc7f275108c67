"""Control flow: what a script does up to its launches, with both ways taken where nobody can decide.

A branch on something only run time knows is taken both ways on copies of the state, which then join: what
differs becomes conditional. A loop with unknown bounds forgets what its body assigns and is gone through once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand, simple, tree
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.branches import Branches
from pytest_ascendenv.launch.expand import merged, quotes_off
from pytest_ascendenv.launch.flow import Flow, Frame
from pytest_ascendenv.launch.loops import Loops
from pytest_ascendenv.launch.run import Run, TooMuch
from pytest_ascendenv.launch.state import Function, State, Status, Variable, positional
from pytest_ascendenv.launch.values import Part, Value, shorten, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 60  # functions, sourced files and substitutions within one another


class Interpreter(Branches, Loops):
    """Goes through the statements of a script; ``simple`` handles the commands."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.script: tree.Script = tree.parse("", "")
        self.loops: list[Frame] = []
        self.returns: list[list[State]] = []
        self.out: list[Part] | None = None
        self.stdin: Value | None = None
        self.depth = 0
        self.deciding = 0
        self.locals: list[dict[str, Variable | None]] = []
        self.scripts: tuple[str, ...] = ()
        self.incomplete: list[str] = []
        self.left: dict[str, str] = {}  # what a trap on EXIT runs where the script may leave early, and where
        self.around: tuple[str, ...] = ()
        self.base = "/"
        run.substitute = self.substitute

    # -- texts ------------------------------------------------------------------------------------------------------

    def text(self, text: str, name: str, first: int = 1, fixed: bool = False) -> Flow:
        """Run a text: a file, an eval, a substitution."""
        self.deeper()
        before, line = self.script, (self.run.name, self.run.line, self.run.fixed, self.run.word_line)
        self.run.fixed, self.run.word_line = fixed or (before.fixed and name == self.run.name), 0
        self.script = tree.parse(text, name, first, fixed)
        try:
            if self.script.root.type == "ERROR":
                self.unreadable(self.script.root)
            return self.block(self.script.root.children)
        finally:
            self.script = before
            self.run.name, self.run.line, self.run.fixed, self.run.word_line = line
            self.depth -= 1

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooMuch(f"{self.run.here()}: nested deeper than {DEEPEST}")

    def substitute(self, code: str) -> Value:
        """The output of ``$(code)``, as far as it is decidable."""
        if code.lstrip().startswith("<") and not code.lstrip().startswith("<<"):
            return unknown(f"$({shorten(code.strip())}) is only known at run time")
        return self.captured(lambda: self.text(code, self.run.name, self.run.line, fixed=True))

    def captured(self, action: Callable[[], object]) -> Value:
        """The output of an action in a subshell, without its last newlines."""
        before, out = self.state, self.out
        self.run.state, self.out = before.copy(), []
        try:
            action()
            parts = self.out
        finally:
            before.status = self.state.status
            self.run.state, self.out = before, out
        value = merged(parts)
        if value.parts and isinstance(value.parts[-1], str):
            value = merged([*value.parts[:-1], value.parts[-1].rstrip("\n")])
        return value

    def emit(self, value: Value) -> None:
        if self.out is not None:
            self.run.spend(1 + sum(len(part) for part in value.parts if isinstance(part, str)) // 512)
            self.out += value.parts

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, nodes: Sequence[Node]) -> Flow:
        for node, background in tree.statements(list(nodes)):
            flow = self.subshell(lambda node=node: self.statement(node)) if background else self.statement(node)  # type: ignore[misc]
            if flow is not Flow.GO:
                return flow
            if self.state.errexit and self.state.status is Status.FAILED and not self.deciding and _can_fail(node):
                self.run.note(f"{self.run.here()}: set -e is on and this command fails, so the script ends here")
                return Flow.EXIT
        return Flow.GO

    def statement(self, node: Node) -> Flow:
        self.run.spend()
        self.run.name, self.run.line, self.run.word_line = self.script.name, self.script.line(node), 0
        if node.has_error:
            self.unreadable(node)
        handler = HANDLERS.get(node.type)
        if handler is not None:
            return handler(self, node)
        if node.type != "ERROR":
            self.run.note(f"{self.run.here()}: not read: {shorten(self.script.shown(node))}")
        return Flow.GO

    def unreadable(self, node: Node) -> None:
        """What a syntax error swallowed is unverified: variables, and launches."""
        bad = _first_error(node)
        where = f"{self.script.name}:{self.script.line(bad)}"
        if any(where in note for note in self.run.notes if "syntax" in note):
            return
        self.run.note(
            f"{where}: syntax error near {shorten(self.script.shown(bad)) or 'the end'}; what it swallows is unverified"
        )
        self.state.doubt(f"the syntax error at {where}")
        self.state.conditions = (*self.state.conditions, f"the shell gets past {where} (syntax error)")

    def command(self, node: Node) -> Flow:
        return simple.execute(self, self.script.command_text(node))

    def redirected(self, node: Node) -> Flow:
        """A command with redirections; behind a here-document's mark, more may follow on the same line."""
        here = [child for child in node.children if child.type == "heredoc_redirect"]
        followers = [child for each in here for child in each.children]
        pipe = next((child for child in followers if child.type == "pipeline"), None)
        right = next((each.child_by_field_name("right") for each in here if each.child_by_field_name("right")), None)
        if pipe is not None:
            given = self.captured_stage(lambda: self._redirected(node, here))
            return self._piped(tree.stages(pipe), given)
        if right is not None:
            operator = next((child.type for child in followers if child.type in ("&&", "||")), "&&")
            return self._either(lambda: self._redirected(node, here), node, operator, right)
        return self._redirected(node, here)

    def _redirected(self, node: Node, here: Sequence[Node]) -> Flow:
        body = node.child_by_field_name("body")
        if body is None or body.type in LEAVES:
            text = self._head(node, here) if here else self.script.command_text(node)
            return simple.execute(self, text, self._heredoc(here))
        before, self.stdin = (
            self.stdin,
            simple.input_of(self, [self.script.text(c) for c in node.children if c != body]),
        )
        if here:
            self.stdin = self._heredoc(here)
        try:
            return self.statement(body)
        finally:
            self.stdin = before

    def _head(self, node: Node, here: Sequence[Node]) -> str:
        bodies = [child for each in here for child in each.children if child.type == "heredoc_body"]
        end = min([child.start_byte for child in bodies], default=node.end_byte)
        return self.script.between(node.start_byte, end).rstrip("\n")

    def _heredoc(self, here: Sequence[Node]) -> Value | None:
        for each in here[-1:]:
            start = next((self.script.text(c) for c in each.children if c.type == "heredoc_start"), "")
            body = next((c for c in each.children if c.type == "heredoc_body"), None)
            if body is None:
                return Value()
            raw = self.script.text(body)
            if re.search(r"['\"\\]", start):
                return Value((raw,))
            return expand.flat(expand.pieces(raw, self.run, within_quotes=True))
        return None

    def pipeline(self, node: Node) -> Flow:
        return self._piped([child for child in node.children if child.is_named], self.stdin)

    def _piped(self, stages: Sequence[Node], given: Value | None) -> Flow:
        before, failed = self.stdin, False
        for stage in stages[:-1]:
            self.stdin = given
            given = self.captured_stage(lambda stage=stage: self.statement(stage))  # type: ignore[misc]
            failed = failed or self.state.status is Status.FAILED
        self.stdin = given
        flow = self.subshell(lambda: self.statement(stages[-1]))
        if failed and self.state.pipefail:
            self.state.status = Status.FAILED
        self.stdin = before
        return flow

    def captured_stage(self, action: Callable[[], object]) -> Value:
        before, out = self.state, self.out
        self.run.state, self.out = before.copy(), []
        try:
            action()
            return merged(self.out)
        finally:
            before.status = self.state.status
            self.run.state, self.out = before, out

    def subshell(self, action: Callable[[], Flow]) -> Flow:
        """Run on a copy: only the status and the launches stay."""
        before = self.state
        self.run.state = before.copy()
        self.state.trap = ("", "")
        loops, returns, self.loops, self.returns = self.loops, self.returns, [], [[]]
        try:
            action()
            self.ending()
        finally:
            self.loops, self.returns = loops, returns
            before.status = self.state.status
            self.run.state = before
        return Flow.GO

    def ending(self) -> None:
        """What ``trap … EXIT`` runs where a shell ends."""
        (code, condition), self.state.trap = self.state.trap, ("", "")
        if code and condition:
            self.state.conditions = (*self.state.conditions, condition)
        before = len(self.run.launches)
        if code:
            self.text(code, self.run.name, self.run.line, fixed=True)
        where = self.left.pop(code, "")
        if where and len(self.run.launches) > before:
            self.incomplete.append(f"the script may leave early at {where}, and its trap on EXIT runs there too")

    def group(self, node: Node) -> Flow:
        text = self.script.text(node)
        if text.startswith("(("):
            return simple.arithmetic(self, text[2:-2])
        return self.block(tree.section(node, "{", "}"))

    def body(self, node: Node) -> Flow:
        return self.block(tree.section(node, "do", "done"))

    def parentheses(self, node: Node) -> Flow:
        return self.subshell(lambda: self.block(tree.section(node, "(", ")")))

    def negated(self, node: Node) -> Flow:
        flow = self.decide([child for child in node.children if child.is_named])
        flip = {Status.OK: Status.FAILED, Status.FAILED: Status.OK}
        self.state.status = flip.get(self.state.status, Status.OPEN)
        self.flip()
        return flow

    def flip(self) -> None:
        """The likely outcome of an open test, inverted."""
        if self.state.likely is not None:
            self.state.likely = not self.state.likely

    def decide(self, nodes: Sequence[Node]) -> Flow:
        """Run a condition: set -e does not end it."""
        return self._deciding(lambda: self.block(nodes))

    def _deciding(self, action: Callable[[], Flow]) -> Flow:
        self.deciding += 1
        try:
            return action()
        finally:
            self.deciding -= 1

    def either_or(self, node: Node) -> Flow:
        """``a && b`` and ``a || b``."""
        first, second = node.children[0], node.children[-1]
        operator = next(child.type for child in node.children if child.type in ("&&", "||"))
        return self._either(lambda: self.block([first]), first, operator, second)

    def _either(self, action: Callable[[], Flow], first: Node, operator: str, second: Node) -> Flow:
        flow = self._deciding(action)
        if flow is not Flow.GO:
            return flow
        status = self.state.status
        if status is Status.OPEN or (status is Status.RAN and operator == "||"):
            return self._open_list(first, second, operator, status)
        wanted = operator == "&&"
        if (status in (Status.OK, Status.RAN)) == wanted:
            return self.block([second])
        return Flow.GO

    def _open_list(self, first: Node, second: Node, operator: str, status: Status) -> Flow:
        condition = self.describe([first])
        if operator == "||":
            condition = f"not {condition}"
            self.flip()
        if status is Status.RAN and operator == "||":
            return self._on_failure(second, condition)
        return self.fork(lambda: self.statement(second), lambda: Flow.GO, condition)

    def _on_failure(self, second: Node, condition: str) -> Flow:
        """``command || exit``: a failing command is not the normal course, so no condition stays behind."""
        before = self.state.conditions
        flow = self.fork(lambda: self.statement(second), lambda: Flow.GO, condition)
        self.state.conditions = before
        self.state.status = Status.RAN
        return flow

    def describe(self, nodes: Sequence[Node]) -> str:
        named = [node for node in nodes if node.is_named]
        text = " ".join(self.script.shown(node) for node in named)
        return f"`{shorten(text)}` ({self.script.name}:{self.script.line(named[0]) if named else self.run.line})"

    # -- functions --------------------------------------------------------------------------------------------------

    def define(self, node: Node) -> Flow:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.state.functions[self.script.text(name)] = Function(body, self.script)
        return Flow.GO

    def call(self, function: Function, args: list[Value]) -> Flow:
        self.deeper()
        before = (self.script, self.state.args, self.state.args_hole, self.run.name, self.run.line, self.loops)
        self.script, self.loops = function.file, []
        self.state.args, self.state.args_hole = positional(args)
        simple.enter(self)
        self.returns.append([])
        try:
            flow = self.statement(function.body)
            reached = self.rejoin(self.returns[-1], flow is not Flow.EXIT)
            return Flow.GO if reached else flow
        finally:
            self.returns.pop()
            simple.leave(self)
            self.depth -= 1
            self.script, self.state.args, self.state.args_hole, self.run.name, self.run.line, self.loops = before

    def arithmetic_truth(self, text: str) -> Status:
        """The outcome of ``(( text ))``."""
        value = evaluate(quotes_off(text, self.run), self.run)
        if value.text is None:
            return Status.OPEN
        return Status.OK if value.text != "0" else Status.FAILED


def _first_error(node: Node) -> Node:
    while not (node.is_missing or node.type == "ERROR"):
        bad = next((child for child in node.children if child.has_error or child.is_missing), None)
        if bad is None:
            return node
        node = bad
    return node


def _can_fail(node: Node) -> bool:
    return node.type not in (
        "list",
        "negated_command",
        "if_statement",
        "while_statement",
        "for_statement",
        "case_statement",
    )


LEAVES = frozenset(
    ["command", "declaration_command", "variable_assignment", "variable_assignments", "test_command", "unset_command"]
)
HANDLERS: dict[str, Callable[[Interpreter, Node], Flow]] = {
    **dict.fromkeys(LEAVES, Interpreter.command),
    "redirected_statement": Interpreter.redirected,
    "pipeline": Interpreter.pipeline,
    "list": Interpreter.either_or,
    "negated_command": Interpreter.negated,
    "compound_statement": Interpreter.group,
    "subshell": Interpreter.parentheses,
    "do_group": Interpreter.body,
    "if_statement": Interpreter.if_,
    "case_statement": Interpreter.case,
    "for_statement": Interpreter.for_,
    "c_style_for_statement": Interpreter.c_for,
    "while_statement": Interpreter.while_,
    "function_definition": Interpreter.define,
}
