"""Shell arithmetic: ``$(( ))``, ``(( ))``, ``let``, array indices; 64-bit, over values that may be uncertain."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ascendenv.launch.values import Value, combine, known, unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.run import Run

TOKEN = re.compile(
    r"\s*(?:(\d+#[\w@]+|0[xX][\da-fA-F]+|\d+)|([A-Za-z_]\w*)|(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|"
    r"|[-+*/%&^|]=|[-+*/%<>=!~&^|?:(),\[\]]))",
    re.ASCII,
)
BINARY = {
    ",": 1, "?": 3, "||": 4, "&&": 5, "|": 6, "^": 7, "&": 8, "==": 9, "!=": 9, "<": 10, ">": 10, "<=": 10, ">=": 10,
    "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "/": 13, "%": 13, "**": 15,
}  # fmt: skip
ASSIGN = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>="])
NESTED = 20  # a variable that names a variable that names …


class Wrong(Exception):
    """Not an expression Bash would accept."""


class Uncertain(Exception):
    """A variable in it is unknown outright."""


def evaluate(text: Value, run: Run, depth: int = 0) -> Value:
    """The value of an expression whose ``$`` expansions are done."""
    guess = text.guess
    if guess is None:
        return unknown(text.reason)
    try:
        parser = Expression(guess, run, depth)
        number = parser.all()
    except Uncertain as error:
        return unknown(combine([text.reason, str(error)]))
    except (Wrong, RecursionError, ZeroDivisionError) as error:
        return unknown(f"{run.here()}: arithmetic fails ({error or 'nested too deep'})")
    why = combine([text.reason, *parser.reasons])
    return unknown(why, str(number)) if why else known(str(number))


class Expression:
    """Precedence climbing; ``live`` is off in the operand a condition skips."""

    def __init__(self, text: str, run: Run, depth: int) -> None:
        self.run, self.depth, self.live = run, depth, True
        self.reasons: list[str] = []
        self.tokens = _tokens(text)
        self.at = 0

    def all(self) -> int:
        if not self.tokens:
            return 0
        value = self.binary(1)
        if self.at < len(self.tokens):
            raise Wrong(f"unexpected {self.tokens[self.at]}")
        return value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise Wrong(f"{token} is missing")

    def binary(self, lowest: int) -> int:
        left = self.unary()
        while (power := BINARY.get(self.peek(), 0)) >= lowest:
            operator = self.take()
            if operator == "?":
                left = self.choice(left)
            elif operator in ("&&", "||"):
                left = self.lazy(left, operator, power)
            else:
                left = _apply(operator, left, self.binary(power + (operator != "**")), self.live)
        return left

    def choice(self, condition: int) -> int:
        first = self.skipping(not condition, 1)
        self.expect(":")
        second = self.skipping(bool(condition), 3)
        return first if condition else second

    def lazy(self, left: int, operator: str, power: int) -> int:
        decided = bool(left) == (operator == "||")
        right = self.skipping(decided, power + 1)
        return int(bool(left)) if decided else int(bool(right))

    def skipping(self, skip: bool, lowest: int) -> int:
        before, self.live = self.live, self.live and not skip
        value = self.binary(lowest)
        self.live = before
        return value

    def unary(self) -> int:
        token = self.take()
        if token in ("-", "+", "!", "~"):
            value = self.unary()
            return _wrap({"-": -value, "+": value, "!": int(not value), "~": ~value}[token])
        if token in ("++", "--"):
            name, key = self.place(self.take())
            return self.store(name, key, self.load(name, key) + (1 if token == "++" else -1))
        if token == "(":
            value = self.binary(1)
            self.expect(")")
            return value
        if token[:1].isdigit():
            return _number(token)
        if re.match(r"[A-Za-z_]", token):
            return self.variable(token)
        raise Wrong(f"unexpected {token or 'end'}")

    def variable(self, token: str) -> int:
        name, key = self.place(token)
        operator = self.peek()
        if operator in ASSIGN:
            self.take()
            right = self.binary(2)
            value = right if operator == "=" else _apply(operator[:-1], self.load(name, key), right, self.live)
            return self.store(name, key, value)
        value = self.load(name, key)
        if operator in ("++", "--"):
            self.take()
            self.store(name, key, value + (1 if operator == "++" else -1))
        return value

    def place(self, name: str) -> tuple[str, str | None]:
        if self.peek() != "[":
            return name, None
        self.take()
        index = self.binary(1)
        self.expect("]")
        return name, str(index)

    def load(self, name: str, key: str | None) -> int:
        if not self.live:
            return 0
        variable = self.run.state.variables.get(name)
        value = variable.items.get(key) if key is not None and variable else self.run.scalar(name)
        if value is None:
            return 0
        guess = value.guess
        if guess is None:
            raise Uncertain(value.reason)
        if not value.known:
            self.reasons.append(value.reason)
        return self.nested(guess)

    def nested(self, text: str) -> int:
        if re.fullmatch(r"\s*-?[1-9]\d{0,17}\s*|\s*0?\s*", text, re.ASCII):
            return int(text) if text.strip() else 0
        if self.depth > NESTED:
            raise Wrong("expression recursion level exceeded")
        inner = Expression(text, self.run, self.depth + 1)
        value = inner.all()
        self.reasons += inner.reasons
        return value

    def store(self, name: str, key: str | None, value: int) -> int:
        value = _wrap(value)
        if self.live:
            why = combine(self.reasons)
            self.run.assign(name, unknown(why, str(value)) if why else known(str(value)), key=key)
        return value


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.strip().replace("\\\n", " ")
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Wrong(f"cannot read {text[at : at + 20]!r}")
        tokens.append(match[1] or match[2] or match[3])
        at = match.end()
    return tokens


def _number(token: str) -> int:
    base, hash_, digits = token.partition("#")
    try:
        if hash_:
            return _wrap(int(digits, int(base)))
        if token[:2] in ("0x", "0X"):
            return _wrap(int(token, 16))
        return _wrap(int(token, 8 if token.startswith("0") and len(token) > 1 else 10))
    except ValueError as error:
        raise Wrong(f"{token}: {error}") from error


def _apply(operator: str, a: int, b: int, live: bool) -> int:
    if operator in ("/", "%") and not live:
        return 0
    if operator == "/":
        return _wrap(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
    if operator == "%":
        return _wrap(abs(a) % abs(b) * (1 if a >= 0 else -1))
    if operator == "**":
        if b < 0:
            raise Wrong("exponent less than 0")
        return _wrap(pow(a, b, 1 << 64))
    return _wrap(_SIMPLE[operator](a, b))


_SIMPLE: dict[str, Callable[[int, int], int]] = {
    ",": lambda a, b: b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63), "+": lambda a, b: a + b,
    "-": lambda a, b: a - b, "*": lambda a, b: a * b,
}  # fmt: skip


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
