"""Loops: gone through as often as Bash would where the bounds are known, once with doubts where they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand, lexer, tree
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.expand import quotes_off
from pytest_ascendenv.launch.flow import Flow, Frame
from pytest_ascendenv.launch.run import Run
from pytest_ascendenv.launch.state import State, Status, join
from pytest_ascendenv.launch.values import Value, known, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

ROUNDS = 1000
ASSIGNED = re.compile(
    r"(?:^|[\s;&|(`{])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=|\(\(\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/]=)"
    r"|\bread\s+(?:-\w+\s+)*([A-Za-z_][\w ]*)|\blet\s+\"?([A-Za-z_]\w*)|\bfor\s+([A-Za-z_]\w*)"
    r"|\bunset\s+([A-Za-z_]\w*)|\bprintf\s+-v\s*([A-Za-z_]\w*)",
    re.ASCII | re.MULTILINE,
)


def assigned(text: str) -> set[str]:
    """The variables a text may assign, by the look of it (more rather than fewer)."""
    return {name for match in ASSIGNED.finditer(text) for group in match.groups() if group for name in group.split()}


class Loops:
    """The loops of the interpreter."""

    run: Run
    script: tree.Script
    loops: list[Frame]
    incomplete: list[str]
    leave: Callable[[Flow, State], None]
    stdin: Value | None
    block: Callable[[Sequence[Node]], Flow]
    decide: Callable[[Sequence[Node]], Flow]
    rejoin: Callable[[list[State], bool], bool]
    describe: Callable[[Sequence[Node]], str]

    @property
    def state(self) -> State:
        return self.run.state

    def for_(self, node: Node) -> Flow:
        name_node, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name_node is None or body is None:
            self.incomplete.append(f"the loop at {self.run.here()} cannot be read")
            return Flow.GO
        name = self.script.text(name_node)
        if node.children[0].type == "select":
            return self.once(body, [name, "REPLY"], "a menu")
        values = self._values(node, body)
        if any(value.splits and value.guess is None for value in values):
            reason = next(value.reason for value in values if value.guess is None)
            self.run.assign(name, unknown(reason))
            return self.once(body, [name], reason)
        if len(values) > ROUNDS:
            return self.once(body, [name], f"more than {ROUNDS} rounds")
        rounds = iter([value for value in values if value.guess != "" or not value.splits])

        def another() -> bool:
            value = next(rounds, None)
            if value is not None:
                self.run.assign(name, value.at(self.run.here()))
            return value is not None

        return self.repeat(another, body)

    def _values(self, node: Node, body: Node) -> list[Value]:
        start = next((child for child in node.children if child.type == "in"), None)
        if start is None:
            return expand.words('"$@"', self.run)
        text = self.script.between(start.end_byte, body.start_byte).strip().rstrip(";").rstrip()
        return [value for token in lexer.words(text) for value in expand.words(token.text, self.run)]

    def c_for(self, node: Node) -> Flow:
        body = node.child_by_field_name("body") or node.children[-1]
        text = self.script.between(node.start_byte, body.start_byte)
        match = re.search(r"\(\((.*)\)\)", text, re.DOTALL)
        sections = match[1].split(";") if match else []
        if len(sections) != 3:
            return self.once(body, [], "its header cannot be read")
        first, condition, step = sections
        self.calculate(first)
        rounds = 0

        def another() -> bool | None:
            nonlocal rounds
            if rounds:
                self.calculate(step)
            rounds += 1
            value = self.calculate(condition or "1")
            return None if value.text is None else value.text != "0"

        return self.repeat(another, body, lambda: assigned(f"(({first})) (({step}))"))

    def calculate(self, text: str) -> Value:
        return evaluate(quotes_off(text.strip(), self.run), self.run) if text.strip() else known("")

    def while_(self, node: Node) -> Flow:
        body = node.child_by_field_name("body") or node.children[-1]
        condition = [child for child in node.children[1:] if child.start_byte < body.start_byte]
        wanted = node.children[0].type == "while"

        def another() -> bool | None:
            self.decide(condition)
            if self.state.status in (Status.OK, Status.FAILED):
                return (self.state.status is Status.OK) == wanted
            return None

        names = lambda: assigned(self.script.text(node))  # noqa: E731
        return self.repeat(another, body, names, ends_by_change=self.stdin is None)

    def repeat(
        self,
        another: Callable[[], bool | None],
        body: Node,
        names: Callable[[], set[str]] = lambda: set(),
        ends_by_change: bool = False,
    ) -> Flow:
        """Rounds while ``another`` says so; once with doubts where it cannot tell or there are too many."""
        frame, rounds = Frame(), 0
        self.loops.append(frame)
        flow = Flow.GO
        endless = outwards = False
        while (goes := another()) and rounds < ROUNDS:
            self.run.spend()
            before = self.state.variables.copy()
            flow = self.block([body])
            if outwards := flow in (Flow.BREAK, Flow.CONTINUE) and self.state.levels > 0:
                if not frame.continues and not frame.breaks:
                    self.loops.pop()
                    self.state.levels -= 1
                    return flow
                self.leave(flow, self.state)
            reached = self.rejoin(frame.continues, flow in (Flow.GO, Flow.CONTINUE) and not outwards)
            frame.continues.clear()
            rounds += 1
            if not reached:
                break
            flow = Flow.GO
            if endless := (ends_by_change and before == self.state.variables):
                break
        self.loops.pop()
        where = self.run.here()
        if goes is None or (goes and rounds >= ROUNDS and flow is Flow.GO):
            reason = "how often it runs is only known at run time" if goes is None else f"more than {ROUNDS} rounds"
            flow = self.once(body, sorted(names()), reason)
        if endless or rounds >= ROUNDS:
            self.run.note(f"{where}: whether this loop ends is only known at run time")
            self.state.conditions = (*self.state.conditions, f"the loop at {where} ends")
        reached = self.rejoin(frame.breaks, flow is Flow.GO or (flow is Flow.BREAK and not outwards))
        flow = Flow.EXIT if outwards else flow
        self.state.status = Status.OK if self.state.status is Status.FAILED else self.state.status
        return Flow.GO if reached else flow

    def once(self, body: Node, names: Sequence[str], reason: str) -> Flow:
        """A body that runs an unknown number of times: what it assigns is not known, in it and behind it."""
        where = self.run.here()
        doubtful = sorted({*names, *assigned(self.script.text(body))})
        before = self.state.copy()
        why = f"assigned in the loop at {where} ({reason})"
        self._forget(doubtful, why)
        condition = f"the loop at {where} runs ({reason})"
        self.state.conditions = (*self.state.conditions, condition)
        frame = Frame()
        self.loops.append(frame)
        flow = self.block([body])
        self.loops.pop()
        if self.state.levels:
            self.incomplete.append(f"break or continue out of several loops at {where} is not followed")
            self.state.levels = 0
        reached = self.rejoin(frame.continues + frame.breaks, flow not in (Flow.EXIT, Flow.RETURN))
        if reached:
            self._forget(doubtful, why)
            self.run.state = join(self.state, before, condition)
        else:
            self.run.state = before
        self.run.state.conditions = before.conditions
        self.state.status = Status.OPEN
        return Flow.GO

    def _forget(self, names: Sequence[str], reason: str) -> None:
        for name in names:
            self.state.forget(name, reason)
