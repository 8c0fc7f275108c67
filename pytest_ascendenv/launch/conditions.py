"""``[ … ]``, ``test`` and ``[[ … ]]`` with three outcomes: true, false, open."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_ascendenv.launch import lexer, patterns
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.expand import scalar
from pytest_ascendenv.launch.parameters import pattern_of
from pytest_ascendenv.launch.run import Run
from pytest_ascendenv.launch.values import Value, known

Outcome = bool | None  # None: open
NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
TEXTUAL = frozenset(["=", "==", "!=", "<", ">", "=~"])
FILES = frozenset(["-nt", "-ot", "-ef"])
UNARY = re.compile(r"-[a-zA-Z]")


class Syntax(Exception):
    """Bash would complain: the command ends with status 2."""


def invert(outcome: Outcome) -> Outcome:
    return None if outcome is None else not outcome


def both(first: Outcome, second: Outcome) -> Outcome:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def single(words: Sequence[Value], run: Run) -> Outcome:
    """``[`` and ``test``: the words are expanded already."""
    certain = all(word.known for word in words)
    if any(word.splits and (word.guess is None or word.guess == "") for word in words):
        return None  # the number of words is not known
    try:
        return Test(list(words), run, pattern=False).all()
    except Syntax:
        return False if certain else None


def likely(words: Sequence[Value] | str, run: Run) -> Outcome:
    """The outcome of an open test if all conditions hold (``str``: the text of ``[[ ]]``)."""
    try:
        if isinstance(words, str):
            return Test([token.text for token in _glue(words)], run, pattern=True, guessing=True).all()
        chosen = [word for word in words if not (word.splits and word.guess == "")]
        return Test(list(chosen), run, pattern=False, guessing=True).all()
    except (Syntax, lexer.Malformed):
        return None


def double(text: str, run: Run) -> Outcome:
    """``[[ … ]]``: ``text`` is what stands between the brackets."""
    try:
        return Test([token.text for token in _glue(text)], run, pattern=True).all()
    except (Syntax, lexer.Malformed):
        return None


def _glue(text: str) -> list[lexer.Token]:
    """The words of ``[[ ]]``; a regular expression behind ``=~`` may hold brackets and bars."""
    found: list[lexer.Token] = []
    for token in lexer.tokens(text):
        if token.text == "\n":
            continue
        expression = any(each.text == "=~" for each in found[-12:]) and token.text not in ("&&", "||")
        if expression and token.glued and found and found[-1].text != "=~":
            found[-1] = lexer.Token(found[-1].text + token.text, True, token.line)
        else:
            found.append(token)
    return found


class Test:
    """Recursive descent: or, and, not, primary. Operators are raw texts; operands are expanded when they are needed."""

    def __init__(self, terms: Sequence[Value | str], run: Run, pattern: bool, guessing: bool = False) -> None:
        self.terms, self.run, self.pattern, self.at = list(terms), run, pattern, 0
        self.guessing = guessing

    def all(self) -> Outcome:
        if not self.terms:
            return False
        outcome = self.either()
        if self.at < len(self.terms):
            raise Syntax
        return outcome

    def word(self, offset: int = 0) -> str | None:
        """The term as an operator: its raw text, or its known text."""
        if self.at + offset >= len(self.terms):
            return None
        term = self.terms[self.at + offset]
        return term if isinstance(term, str) else term.text

    def operand(self) -> Value:
        if self.at >= len(self.terms):
            raise Syntax
        term = self.terms[self.at]
        self.at += 1
        value = scalar(term, self.run) if isinstance(term, str) else term
        return known(value.guess) if self.guessing and value.guess is not None else value

    def either(self) -> Outcome:
        outcome = self.every()
        while self.word() in ("||",) if self.pattern else self.word() == "-o":
            self.at += 1
            outcome = invert(both(invert(outcome), invert(self.every())))
        return outcome

    def every(self) -> Outcome:
        outcome = self.negated()
        while self.word() in ("&&",) if self.pattern else self.word() == "-a":
            self.at += 1
            outcome = both(outcome, self.negated())
        return outcome

    def negated(self) -> Outcome:
        if self.word() == "!" and len(self.terms) - self.at > 1 and self.word(1) not in TEXTUAL:
            self.at += 1
            return invert(self.negated())
        return self.primary()

    def primary(self) -> Outcome:
        following = self.word(1)
        if following is not None and (following in NUMERIC or following in TEXTUAL or following in FILES):
            return self.comparison()
        if self.word() in ("(", "\\(") and self.at + 1 < len(self.terms):
            return self.bracket()
        first = self.word()
        if first is not None and UNARY.fullmatch(first) and self.at + 1 < len(self.terms) and not self.joint(1):
            self.at += 1
            return unary(first, self.operand(), self.run)
        value = self.operand()
        return True if value.surely_not_empty else (bool(value.text) if value.known else None)

    def joint(self, offset: int) -> bool:
        return self.word(offset) in (("&&", "||") if self.pattern else ())

    def bracket(self) -> Outcome:
        self.at += 1
        outcome = self.either()
        if self.word() not in (")", "\\)"):
            raise Syntax
        self.at += 1
        return outcome

    def comparison(self) -> Outcome:
        left = self.operand()
        operator = self.word()
        self.at += 1
        if self.pattern and operator in ("=", "==", "!="):
            outcome = self.matched(left)
            return invert(outcome) if operator == "!=" else outcome
        right = self.operand()
        if operator in NUMERIC:
            return numeric(operator, left, right, self.run, self.pattern)
        if operator == "=~":
            outcome = regular(left, right)
            if not self.guessing:
                remember(left, right, outcome, self.run)
            return outcome
        if operator in FILES:
            return None
        return textual(operator or "", left, right)

    def matched(self, left: Value) -> Outcome:
        term = self.terms[self.at] if self.at < len(self.terms) else None
        if not isinstance(term, str):
            raise Syntax
        self.at += 1
        items = pattern_of(term, self.run)
        if isinstance(items, Value) or left.text is None:
            return False if not isinstance(items, Value) and not items and left.surely_not_empty else None
        self.run.spend(1 + len(left.text) * len(items) // 2000)
        return patterns.matches(items, left.text)


def unary(operator: str, value: Value, run: Run) -> Outcome:
    if operator in ("-z", "-n"):
        empty = False if value.surely_not_empty else (not value.text if value.known else None)
        return empty if operator == "-z" else invert(empty)
    if operator == "-v" and value.text:
        if run.absent(value.text):
            return None
        variable = run.state.variables.get(value.text)
        return variable is None or not variable.unset
    return None  # files, terminals, options: the training host's


def numeric(operator: str, left: Value, right: Value, run: Run, expressions: bool) -> Outcome:
    numbers = []
    for value in (left, right):
        value = evaluate(value, run) if expressions and value.known else value
        if value.text is None:
            return None
        if not re.fullmatch(r"\s*[-+]?\d+\s*", value.text, re.ASCII):
            raise Syntax
        numbers.append(int(value.text))
    return NUMERIC[operator](*numbers)


def textual(operator: str, left: Value, right: Value) -> Outcome:
    if left.text is None or right.text is None:
        apart = (left.text == "" and right.surely_not_empty) or (right.text == "" and left.surely_not_empty)
        if apart and operator in ("=", "==", "!="):
            return operator == "!="
        return None
    if operator in ("=", "=="):
        return left.text == right.text
    if operator == "!=":
        return left.text != right.text
    return None  # the order of texts depends on the locale


def remember(left: Value, right: Value, outcome: Outcome, run: Run) -> None:
    """BASH_REMATCH as a match leaves it; not known where the branches of an expression compete."""
    texts: list[str] = []
    hole = "" if outcome is False else f"what =~ matched at {run.here()} is not known"
    if outcome and "|" not in (right.text or "|") and (match := _search(left.text or "", right.text or "")):
        texts, hole = [match[0], *[group or "" for group in match.groups()]], ""
    run.assign_array("BASH_REMATCH", [(str(n), known(text)) for n, text in enumerate(texts)], False, False)
    run.state.variables["BASH_REMATCH"] = replace(run.state.variables["BASH_REMATCH"], hole=hole)


def _search(text: str, expression: str) -> re.Match[str] | None:
    return re.search(expression.replace("[[:digit:]]", "[0-9]").replace("[[:space:]]", r"\s"), text)


RISKY = re.compile(r"\)[*+{?]|\\\d|\(\?")


def regular(left: Value, right: Value) -> Outcome:
    """``=~`` for the plain expressions launch scripts use; one that could run long is left open."""
    if left.text is None or right.text is None:
        return None
    text, expression = left.text, right.text
    if (
        len(text) > 500
        or len(expression) > 200
        or RISKY.search(expression)
        or len(re.findall(r"[*+{]", expression)) > 3
    ):
        return None
    try:
        return _search(text, expression) is not None
    except re.error:
        return None
