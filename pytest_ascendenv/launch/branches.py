"""``if``, ``case`` and undecidable branches: both ways on copies of the state, which then join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import expand, lexer, tree
from pytest_ascendenv.launch.flow import Flow, Frame
from pytest_ascendenv.launch.parameters import pattern_of
from pytest_ascendenv.launch.patterns import matches
from pytest_ascendenv.launch.run import Run
from pytest_ascendenv.launch.state import State, Status, join
from pytest_ascendenv.launch.text import original
from pytest_ascendenv.launch.values import Value, shorten

if TYPE_CHECKING:
    from tree_sitter import Node


class Branches:
    """The branches of the interpreter."""

    run: Run
    script: tree.Script
    loops: list[Frame]
    returns: list[list[State]]
    left: dict[str, str]
    block: Callable[[Sequence[Node]], Flow]
    decide: Callable[[Sequence[Node]], Flow]
    describe: Callable[[Sequence[Node]], str]

    @property
    def state(self) -> State:
        return self.run.state

    def fork(self, first: Callable[[], Flow], second: Callable[[], Flow], condition: str) -> Flow:
        """Both ways; the states join, except those that leave. The likelier way gives the conditional values."""
        start = self.state
        if start.likely is False:
            first, second, condition = second, first, _not(condition)
        start.likely = None
        one, flow_one = self._way(start.copy(), first, condition)
        two, flow_two = self._way(start.copy(), second, _not(condition))
        if flow_one is flow_two:
            self.run.state = join(one, two, condition)
            return flow_one
        if flow_one is Flow.GO or (flow_two is not Flow.GO and flow_two is Flow.EXIT):
            self.leave(flow_two, two)
            self.run.state = one
            return flow_one
        self.leave(flow_one, one)
        self.run.state = two
        return flow_two

    def _way(self, state: State, action: Callable[[], Flow], condition: str) -> tuple[State, Flow]:
        state.conditions = (*state.conditions, condition)
        self.run.state = state
        flow = action()
        return self.run.state, flow

    def leave(self, flow: Flow, state: State) -> None:
        if flow is Flow.RETURN and self.returns:
            self.returns[-1].append(state)
        elif flow in (Flow.BREAK, Flow.CONTINUE) and self.loops:
            frame, state.levels = self.loops[-1 - min(state.levels, len(self.loops) - 1)], 0
            (frame.breaks if flow is Flow.BREAK else frame.continues).append(state)
        elif flow is Flow.EXIT and state.trap[0]:
            self.left[state.trap[0]] = self.run.here()

    def rejoin(self, states: list[State], reached: bool) -> bool:
        """Join states that left early with the present one (if it was reached); whether there is one at all."""
        for state in states:
            if reached:
                condition = state.conditions[-1] if state.conditions else "a condition that is open"
                self.run.state = join(state, self.state, condition)
            else:
                self.run.state = state
            reached = True
        return reached

    def if_(self, node: Node) -> Flow:
        clauses = [(tree.section(node, "if", "then"), tree.section(node, "then", "elif_clause", "else_clause", "fi"))]
        rest: list[Node] = []
        for child in node.children:
            if child.type == "elif_clause":
                clauses.append((tree.section(child, "elif", "then"), tree.section(child, "then")))
            elif child.type == "else_clause":
                rest = tree.section(child, "else")
        return self._clauses(clauses, rest)

    def _clauses(self, clauses: Sequence[tuple[list[Node], list[Node]]], rest: list[Node]) -> Flow:
        if not clauses:
            self.state.status = Status.OK
            return self.block(rest)
        condition, body = clauses[0]
        flow = self.decide(condition)
        if flow is not Flow.GO:
            return flow
        if self.state.status is Status.OK:
            return self.block(body)
        if self.state.status is Status.FAILED:
            return self._clauses(clauses[1:], rest)
        return self.fork(lambda: self.block(body), lambda: self._clauses(clauses[1:], rest), self.describe(condition))

    def case(self, node: Node) -> Flow:
        subject_node = node.child_by_field_name("value")
        subject = expand.scalar(self.script.text(subject_node), self.run) if subject_node is not None else Value()
        return self._items(subject, [child for child in node.children if child.type == "case_item"])

    def _items(self, subject: Value, items: Sequence[Node]) -> Flow:
        if not items:
            self.state.status = Status.OK
            return Flow.GO
        end = next((child for child in items[0].children if child.type == ")"), None)
        if end is None:
            return self._items(subject, items[1:])
        patterns = self.script.between(items[0].start_byte, end.start_byte)
        outcome = self._matches(subject, patterns)
        if outcome is True:
            return self._item(subject, items)
        if outcome is False:
            return self._items(subject, items[1:])
        condition = f"`{shorten(original(patterns))}` is the case ({self.run.here()})"
        return self.fork(lambda: self._item(subject, items), lambda: self._items(subject, items[1:]), condition)

    def _item(self, subject: Value, items: Sequence[Node]) -> Flow:
        """The commands of one item; behind ``;&`` those of the next, behind ``;;&`` those that match as well."""
        self.state.status = Status.OK
        flow = self.block(tree.section(items[0], ")", ";;", ";&", ";;&"))
        if flow is not Flow.GO or not items[1:]:
            return flow
        if any(child.type == ";&" for child in items[0].children):
            return self._item(subject, items[1:])
        if any(child.type == ";;&" for child in items[0].children):
            return self._items(subject, items[1:])
        return flow

    def _matches(self, subject: Value, text: str) -> bool | None:
        outcome: bool | None = False
        for token in lexer.tokens(text.lstrip().removeprefix("(")):
            if not token.word:
                continue
            if token.text == "*":
                return True
            items = pattern_of(token.text, self.run)
            if isinstance(items, Value) or subject.text is None:
                outcome = None
            elif matches(items, subject.text):
                return True
        return outcome


def _not(condition: str) -> str:
    return condition.removeprefix("not ") if condition.startswith("not ") else f"not {condition}"
