"""``${…}``: defaults, prefixes and suffixes, substitution, substrings, lengths, indirection, arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from pytest_ascendenv.launch import patterns
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.expand import (
    Piece,
    every,
    of,
    parameter,
    pieces,
    quotes_off,
    scalar,
    special,
)
from pytest_ascendenv.launch.lexer import skip
from pytest_ascendenv.launch.run import Run
from pytest_ascendenv.launch.values import Hole, Value, combine, known, lift, unknown

HEAD = re.compile(r"([!#]?)([A-Za-z_]\w*|[@*#?$!\-]|\d+)", re.ASCII)
COSTLY = 5_000_000  # steps of matching; a second or so
Change = Callable[[Value], Value]


def braced(body: str, run: Run, quoted: bool) -> list[Piece]:
    """The pieces of ``${body}``."""
    head = HEAD.match(body)
    if body == "#" or head is None:
        return parameter("#", run, quoted) if body == "#" else [*_odd(body, run)]
    sign, name = head.groups()
    index, rest = _index(body[head.end() :])
    if sign == "#" and not rest:
        return of(_length(name, index, run), quoted)
    if sign == "!":
        return _indirect(name, index, rest, run, quoted)
    return _expanded(name, index, rest, run, quoted)


def _odd(body: str, run: Run) -> list[Piece]:
    return of(unknown(f"{run.here()}: ${{{body[:30]}}} cannot be read"), True)


def _index(text: str) -> tuple[str | None, str]:
    if not text.startswith("["):
        return None, text
    depth = i = 0
    while i < len(text):
        depth += (text[i] == "[") - (text[i] == "]")
        if depth == 0:
            return text[1:i], text[i + 1 :]
        i = skip(text, i) if text[i] in "$'\"\\`" else i + 1
    return None, text


def _length(name: str, index: str | None, run: Run) -> Value:
    if index in ("@", "*") or name in "@*":
        values = _all(name, run)
        return unknown(values) if isinstance(values, str) else known(str(len(values)))
    value = element(name, index, run) if index is not None else special(name, run)
    return lift([value], lambda text: str(len(text))) if value is not None else known("0")


def _all(name: str, run: Run) -> list[Value] | str:
    if name in "@*":
        return run.state.args_hole or run.state.args
    return run.elements(name)


def element(name: str, index: str, run: Run) -> Value | None:
    """``name[index]``: arithmetic for indexed arrays, text for ``declare -A`` ones."""
    variable = run.state.variables.get(name)
    if variable is None or not variable.array:
        position = evaluate(quotes_off(index, run), run)
        return run.scalar(name) if position.text in ("0", None) else None
    if variable.hole:
        return unknown(variable.hole)
    key = scalar(index, run) if variable.keyed else evaluate(quotes_off(index, run), run)
    if key.text is None:
        return unknown(combine([key.reason, f"which element of {name} is not known"]))
    text = key.text
    if text.startswith("-") and not variable.keyed and variable.items:
        text = str(max(int(each) for each in variable.items) + 1 + int(text))
    return variable.items.get(text)


def _indirect(name: str, index: str | None, rest: str, run: Run, quoted: bool) -> list[Piece]:
    if index in ("@", "*"):
        variable = run.state.variables.get(name)
        if variable is None or variable.hole:
            return of(unknown(variable.hole if variable else f"{name} is not set by the script"), False)
        return every([known(key) for key in variable.items], index, quoted, run)
    if rest in ("*", "@"):
        names = sorted(each for each, var in run.state.variables.items() if each.startswith(name) and not var.unset)
        return every([known(each) for each in names], rest, quoted, run)
    target = special(name, run) if index is None else element(name, index, run)
    if target is None or target.text is None:
        return of(unknown(target.reason if target else f"{name} names no variable"), quoted)
    inner, inner_index = re.match(r"(\w*)", target.text), _index(target.text[len(target.text.split("[")[0]) :])[0]
    return _expanded(inner[1] if inner and inner[1] else "_", inner_index, rest, run, quoted)


def _expanded(name: str, index: str | None, rest: str, run: Run, quoted: bool) -> list[Piece]:
    if index in ("@", "*") or name in "@*":
        return _whole(name, index or name, rest, run, quoted)
    if not rest and index is None:
        return parameter(name, run, quoted)
    value = special(name, run) if index is None else element(name, index, run)
    default = re.match(r":?[-=?+]", rest)
    if default:
        return _defaulted(name, index, value, default.group(), rest[default.end() :], run, quoted)
    if not rest:
        return of(value if value is not None else known(""), quoted)
    change = _change(rest, run)
    if change is None:
        return _odd(name + rest, run)
    return of(change(value if value is not None else known("")), quoted)


def _whole(name: str, sign: str, rest: str, run: Run, quoted: bool) -> list[Piece]:
    values = _all(name, run)
    if isinstance(values, str):
        return every(values, sign, quoted, run)
    if re.match(r":?[-=+?]", rest):
        empty = not values
        if rest.lstrip(":")[0] == "+":
            empty = not empty
        return _word(rest.lstrip(":")[1:], run, quoted) if empty else every(values, sign, quoted, run)
    if rest.startswith(":"):
        return _slice(values, rest[1:], sign, run, quoted, name in "@*")
    change = _change(rest, run) if rest else lambda value: value
    if change is None:
        return _odd(name + rest, run)
    return every([change(value) for value in values], sign, quoted, run)


def _slice(values: list[Value], text: str, sign: str, run: Run, quoted: bool, args: bool) -> list[Piece]:
    start, length = _bounds(text, run)
    if start.text is None or (length is not None and length.text is None):
        return every(combine([start.reason, length.reason if length else ""]), sign, quoted, run)
    chosen = [run.state.zero, *values] if args else values
    first = int(start.text) if int(start.text) >= 0 else max(len(chosen) + int(start.text), 0)
    last = None if length is None else first + int(length.text or 0)
    return every(chosen[first:last], sign, quoted, run)


def _bounds(text: str, run: Run) -> tuple[Value, Value | None]:
    i = 0
    while i < len(text) and text[i] != ":":
        i = skip(text, i) if text[i] in "$'\"`\\" else i + 1
    start = evaluate(quotes_off(text[:i], run), run)
    return start, evaluate(quotes_off(text[i + 1 :], run), run) if i < len(text) else None


def _defaulted(
    name: str, index: str | None, value: Value | None, operator: str, word: str, run: Run, quoted: bool
) -> list[Piece]:
    """``${A:-d}`` and its kin, where A may be absent, empty, certain or not."""
    if quoted:
        word = re.sub(r'(?<!\\)"', "", word)  # between double quotes, inner ones only group
    other: Callable[[], Value] = lambda: scalar_word(word, run, quoted)  # noqa: E731
    colon, kind = operator[0] == ":", operator[-1]
    state = _set_state(name, index, value, colon, run)
    if kind == "?":
        return of(_required(name, value, state, run), quoted)
    if state is None and kind == "-" and value is not None and value.guess == "":
        return _maybe(pieces(word, run, quoted), _why(name, value, run))
    if state is None and kind == "+" and value is not None and value.guess:
        return _maybe(pieces(word, run, quoted), _why(name, value, run))
    if state is None:
        doubtful = _doubtful(name, value, kind, other(), run)
        if kind == "=":
            run.assign(name, doubtful)
        return of(doubtful, quoted)
    if kind == "+":
        return _word(word, run, quoted) if state else ([Piece("", True)] if quoted else [])
    if state:
        assert value is not None
        return of(value, quoted)
    if kind == "=":
        run.assign(name, other())
    return _word(word, run, quoted) or ([Piece("", True)] if quoted else [])


def _word(word: str, run: Run, quoted: bool) -> list[Piece]:
    """The word of ``${A:-word}``: without quotes, also what is written in it is split into words."""
    found = pieces(word, run, quoted)
    return found if quoted else [piece._replace(split=not piece.quoted and piece.part is not None) for piece in found]


def scalar_word(word: str, run: Run, quoted: bool) -> Value:
    return Value(tuple(piece.part for piece in pieces(word, run, quoted) if piece.part is not None))


def _set_state(name: str, index: str | None, value: Value | None, colon: bool, run: Run) -> bool | None:
    """Whether the parameter counts as set; None where that is open."""
    if value is None:
        return False
    if index is None and run.absent(name) and name[0] not in "0123456789@*#?$!-":
        return None
    if not colon:
        return True
    if value.known:
        return bool(value.text)
    return True if value.surely_not_empty else None


def _doubtful(name: str, value: Value | None, kind: str, other: Value, run: Run) -> Value:
    guess = value.guess if value is not None else ""
    reason = combine([_why(name, value, run), other.reason])
    if guess is None:
        return unknown(reason)
    if kind == "+":
        return unknown(reason, other.guess if guess else "")
    return unknown(reason, guess or other.guess)


def _why(name: str, value: Value | None, run: Run) -> str:
    if run.absent(name) and not run.state.taint:
        return f"the calling environment does not set {name}"
    return value.reason if value is not None else ""


def _maybe(found: list[Piece], reason: str) -> list[Piece]:
    """Pieces that stand there only if the condition in ``reason`` holds."""
    doubtful = []
    for piece in found:
        if isinstance(piece.part, str):
            doubtful.append(piece._replace(part=Hole(reason, piece.part, not piece.quoted), split=not piece.quoted))
        elif piece.part is not None:
            hole = replace(piece.part, reason=combine([reason, piece.part.reason]))
            doubtful.append(piece._replace(part=hole))
    return doubtful


def _required(name: str, value: Value | None, state: bool | None, run: Run) -> Value:
    if state and value is not None:
        return value
    condition = f"the calling environment sets {name}"
    run.note(f"{run.here()}: the script ends here unless {name} is set")
    if condition not in run.state.conditions:
        run.state.conditions = (*run.state.conditions, condition)
    return unknown(f"the calling environment must set {name}")


def pattern_of(text: str, run: Run, within_quotes: bool = False) -> list[patterns.Item] | Value:
    """A pattern ready to match, or a value whose reason says why it is not known."""
    found = pieces(text, run, within_quotes)
    parts = [(piece.part, piece.quoted) for piece in found if piece.part is not None]
    if any(not isinstance(part, str) for part, _ in parts):
        return Value(tuple(part for part, _ in parts))
    return patterns.compile_pattern([(part, quoted) for part, quoted in parts if isinstance(part, str)])


def _change(rest: str, run: Run) -> Change | None:
    """What the operator behind the name does to a value; None for an operator that is not known."""
    if rest.startswith(":"):
        return _substring(rest[1:], run)
    for operator in ("##", "#", "%%", "%"):
        if rest.startswith(operator):
            return _trim(operator, rest[len(operator) :], run)
    if rest.startswith("/"):
        return _replacement(rest[1:], run)
    cases: dict[str, Callable[[str], str]] = {
        "^^": str.upper,
        ",,": str.lower,
        "^": lambda text: text[:1].upper() + text[1:],
        ",": lambda text: text[:1].lower() + text[1:],
    }
    if rest in cases:
        return lambda value: lift([value], cases[rest])
    return None


def _substring(text: str, run: Run) -> Change:
    start, length = _bounds(text, run)

    def cut(whole: str, first: str, count: str = "") -> str:
        begin = int(first) if int(first) >= 0 else len(whole) + int(first)
        if begin < 0:
            return ""
        end = len(whole) if not count else (begin + int(count) if int(count) >= 0 else len(whole) + int(count))
        return whole[begin:end]

    return lambda value: lift([value, start] + ([length] if length is not None else []), cut)


def _trim(operator: str, text: str, run: Run) -> Change:
    items = pattern_of(text, run)
    if isinstance(items, Value):
        reason = items.reason
        return lambda value: unknown(combine([value.reason, reason]))
    remove = patterns.remove_prefix if operator[0] == "#" else patterns.remove_suffix

    def change(value: Value) -> Value:
        run.spend(1 + len(value.guess or "") * len(items) // 2000)
        return lift([value], lambda whole: remove(items, whole, len(operator) == 2))

    return change


def _replacement(rest: str, run: Run) -> Change:
    every_one, anchor = rest.startswith("/"), ""
    if every_one:
        rest = rest[1:]
    elif rest[:1] in ("#", "%"):
        anchor, rest = rest[0], rest[1:]
    i = 0
    while i < len(rest) and rest[i] != "/":
        i = skip(rest, i) if rest[i] in "$'\"`\\" else i + 1
    items, new = pattern_of(rest[:i], run), scalar(rest[i + 1 :], run)
    if isinstance(items, Value):
        reason = items.reason
        return lambda value: unknown(combine([value.reason, reason]))

    if anchor and not items:  # an empty pattern matches at the start or the end
        return _at_end(new, anchor)

    def change(value: Value) -> Value:
        size = len(value.guess or "")
        if size * size * len(items) > COSTLY:
            return unknown(f"{run.here()}: a substitution too costly to evaluate")
        return lift([value, new], lambda whole, text: patterns.substitute(items, whole, text, every_one, anchor))

    return change


def _at_end(new: Value, anchor: str) -> Change:
    """``${A/#/new}`` puts a text before, ``${A/%/new}`` behind."""
    return lambda value: lift([value, new], lambda whole, text: text + whole if anchor == "#" else whole + text)
