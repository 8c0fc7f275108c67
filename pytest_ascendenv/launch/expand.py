"""From the text of a word to the words a command gets: quotes, ``$`` expansions, splitting."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from pytest_ascendenv.launch import lexer
from pytest_ascendenv.launch.arithmetic import evaluate
from pytest_ascendenv.launch.run import Run
from pytest_ascendenv.launch.text import CLOSE, OPEN, original
from pytest_ascendenv.launch.values import Hole, Located, Part, Value, combine, known, shorten, source_of, unknown


class Piece(NamedTuple):
    """A part of a word; ``part`` None is a border between words, as in ``"$@"``."""

    part: Part | None
    quoted: bool = False
    split: bool = False
    source: str = ""


BORDER = Piece(None)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
SPECIAL = "@*#?$!-0123456789"
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def words(text: str, run: Run) -> list[Value]:
    """All the words one written word becomes."""
    try:
        written = lexer.braces(text) if "{" in text else [text]
        return [field for word in written for field in fields(pieces(word, run), separators(run))]
    except lexer.Malformed as error:
        return [unknown(f"{run.here()}: {error}")]


def scalar(text: str, run: Run) -> Value:
    """A text as an assignment takes it: no splitting, no patterns."""
    try:
        return flat(pieces(text, run))
    except lexer.Malformed as error:
        return unknown(f"{run.here()}: {error}")


def flat(found: Iterable[Piece]) -> Value:
    parts: list[Part] = []
    for piece in found:
        if piece.part is None:
            parts.append(piece.source or " ")
        else:
            parts.append(located(piece.part, piece.source))
    value = merged(parts)
    return Value((str(value.parts[0]),)) if len(value.parts) == 1 and isinstance(value.parts[0], str) else value


def located(part: Part, source: str) -> Part:
    return Located(part, source) if isinstance(part, str) and source else part


def merged(parts: Iterable[Part]) -> Value:
    result: list[Part] = []
    for part in parts:
        last = result[-1] if result else None
        if isinstance(part, str) and isinstance(last, str) and source_of(part) == source_of(last):
            result[-1] = located(str(last) + part, source_of(part))
        elif part != "":
            result.append(part)
    return Value(tuple(result))


def pieces(text: str, run: Run, within_quotes: bool = False) -> list[Piece]:
    """The parts of a word; ``within_quotes`` reads it as between double quotes (here-documents, ``"…"``)."""
    found: list[Piece] = []
    i = 0
    if not within_quotes and text.startswith("~"):
        i, home = _tilde(text)
        found += home
    while i < len(text):
        plain = (QUOTED_PLAIN if within_quotes else PLAIN).match(text, i)
        if plain:
            found += _literal(text, i, plain.group(), run, within_quotes)
            i = plain.end()
            continue
        end = min(lexer.skip(text, i), len(text)) if text[i] != "'" or not within_quotes else i + 1
        if within_quotes and text[i] == '"':
            end = i + 1
        i, new = _special(text, i, end, run, within_quotes)
        found += new
    return found


def _literal(text: str, i: int, chunk: str, run: Run, quoted: bool) -> list[Piece]:
    """Written text, a piece a line, so that each word of a long variable knows its own line."""
    if "\n" not in chunk and "\n" not in text[:i]:
        return [Piece(chunk, quoted, False, run.within(0))]
    before = text.count("\n", 0, i)
    lines = re.findall(r"[^\n]*\n|[^\n]+", chunk)
    return [Piece(line, quoted, False, run.within(before + number)) for number, line in enumerate(lines)]


PLAIN = re.compile(f"[^'\"\\\\$`<>{OPEN}]+")
QUOTED_PLAIN = re.compile(f"[^\\\\$`{OPEN}]+")


def _special(text: str, i: int, end: int, run: Run, quoted: bool) -> tuple[int, list[Piece]]:
    char = text[i]
    if char == "\\":
        return end, _escape(text[i + 1 : i + 2], quoted)
    if char == "'":
        return end, [Piece(text[i + 1 : end - 1], True)]
    if char == '"':
        inner = text[i + 1 : end - 1]
        return end, pieces(inner, run, True) if inner else [Piece("", True)]
    if char == "`":
        code = re.sub(r"\\([\\`$])", r"\1", text[i + 1 : end - 1])
        return end, [*_of(run.substitute(code), quoted)]
    if char == OPEN:
        return _placeholder(text, i, quoted)
    if char == "$":
        return _dollar(text, i, end, run, quoted)
    if char in "<>":
        return end, [Piece(Hole("a process substitution") if end > i + 1 else char)]
    return i + 1, [Piece(char, quoted)]


def _escape(char: str, quoted: bool) -> list[Piece]:
    if char == "\n":
        return []
    if quoted and char not in ('"', "\\", "$", "`"):
        return [Piece("\\" + char, True)]
    return [Piece(char or "\\", True)]


def _placeholder(text: str, i: int, quoted: bool) -> tuple[int, list[Piece]]:
    end = text.find(CLOSE, i)
    end = len(text) if end < 0 else end + 1
    shown = original(text[i:end])
    if quoted:
        return end, [Piece(shown, True)]
    return end, [Piece(Hole(f"{shown} is a placeholder"))]


def _tilde(text: str) -> tuple[int, list[Piece]]:
    match = re.match(r"~[\w.-]*(?=/|:|$)", text)
    if match is None:
        return 0, []
    return match.end(), [Piece(Hole("the home directory is only known at run time"), True)]


def _dollar(text: str, i: int, end: int, run: Run, quoted: bool) -> tuple[int, list[Piece]]:
    following = text[i + 1 : i + 2]
    if text.startswith("$((", i) and text.endswith("))", i, end):
        return end, _of(evaluate(quotes_off(text[i + 3 : end - 2], run), run), quoted)
    if following == "(":
        return end, _of(run.substitute(text[i + 2 : end - 1]), quoted)
    if following == "[":
        return end, _of(evaluate(quotes_off(text[i + 2 : end - 1], run), run), quoted)
    if following == "{":
        from pytest_ascendenv.launch.parameters import braced

        return end, braced(text[i + 2 : end - 1], run, quoted)
    if following == "'" and not quoted:
        return end, [Piece(ansi(text[i + 2 : end - 1]), True)]
    if following == '"' and not quoted:
        return i + 1, []
    if name := NAME.match(text, i + 1):
        return name.end(), parameter(name.group(), run, quoted)
    if following and following in SPECIAL:
        return i + 2, parameter(following, run, quoted)
    return i + 1, [Piece("$", quoted)]


def quotes_off(text: str, run: Run) -> Value:
    """The text of an arithmetic expression: expanded as within double quotes, then without quotes."""
    return flat(pieces(text.replace('"', ""), run, True))


def ansi(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return ESCAPES.get(code, code if code in "\\'\"?" else "\\" + code)

    return re.sub(r"\\(x[\da-fA-F]{1,2}|[0-7]{1,3}|.)", one, text, flags=re.DOTALL)


def parameter(name: str, run: Run, quoted: bool) -> list[Piece]:
    """``$name`` and the special parameters."""
    if name in "@*":
        return every(run.state.args if not run.state.args_hole else run.state.args_hole, name, quoted, run)
    value = special(name, run)
    if value is None:
        if run.state.nounset and name not in SPECIAL:
            _dies(name, run)
        return [Piece("", True)] if quoted else []
    if run.state.nounset and run.absent(name) and name not in SPECIAL:
        _dies(name, run)
        value = unknown(f"the calling environment must set {name} (set -u)")
    return _of(value, quoted)


def _dies(name: str, run: Run) -> None:
    run.note(
        f"{run.here()}: set -u is on and nothing sets {name}: unless the calling environment does, the script ends"
    )
    condition = f"the calling environment sets {name}"
    if condition not in run.state.conditions:
        run.state.conditions = (*run.state.conditions, condition)


def special(name: str, run: Run) -> Value | None:
    """The value of one parameter; None where it is surely not set."""
    state = run.state
    if name[0] not in SPECIAL:
        return run.scalar(name)
    if name == "0":
        return state.zero
    if state.args_hole and name in "#123456789":
        return unknown(state.args_hole)
    if name == "#":
        return known(str(len(state.args)))
    if name.isdigit():
        return state.args[int(name) - 1] if int(name) <= len(state.args) else None
    if name == "?":
        outcomes = {"ok": "0", "failed": state.code}
        code = outcomes.get(state.status.value)
        return known(code) if code else unknown("the outcome of a command is only known at run time")
    return unknown(f"${name} is only known at run time")


def every(values: list[Value] | str, sign: str, quoted: bool, run: Run) -> list[Piece]:
    """All elements: ``"$@"`` keeps them apart, ``"$*"`` joins them by the first character of IFS."""
    glue = separators(run)[:1] if sign == "*" else " "
    border = Piece(None, source=glue) if glue else BORDER
    if isinstance(values, str):
        return [Piece(Hole(values, splits=True), False, True)]
    found: list[Piece] = []
    for number, value in enumerate(values):
        if number:
            found.append(Piece(glue, True) if quoted and sign == "*" else border)
        found += _of(value, quoted)
    return found if found or not (quoted and sign == "*") else [Piece("", True)]


def _of(value: Value, quoted: bool) -> list[Piece]:
    if not value.parts:
        return [Piece("", quoted, not quoted, value.source)]
    return [
        Piece(
            part if isinstance(part, str) else replace(part, splits=not quoted, source=part.source or value.source),
            quoted,
            not quoted,
            source_of(part) or value.source,
        )
        for part in value.parts
    ]


of = _of


def separators(run: Run) -> str:
    value = run.scalar("IFS")
    return " \t\n" if value is None or value.text is None else value.text


def fields(found: Iterable[Piece], ifs: str) -> list[Value]:
    """Word splitting, and patterns marked as what they are: a question to the files of the training host."""
    result: list[Value] = []
    current: list[Part] | None = None
    globbed, solid, origin = False, False, ""

    def flush() -> None:
        nonlocal current, globbed, solid, origin
        if current is not None and solid:  # quotes make a word, even an empty one
            current = [replace(p, splits=False) if isinstance(p, Hole) and p.value == "" else p for p in current]
        if current is not None:
            value = merged(current).at(origin)
            result.append(_pattern(value) if globbed else value)
        current, globbed, solid, origin = None, False, False, ""

    for part, quoted, split, source in found:
        if part is None:
            flush()
        elif not split or not ifs:
            current = [*(current or []), part]
            globbed = globbed or (not quoted and isinstance(part, str) and _is_pattern(part))
            origin, solid = origin or source, solid or quoted
        else:
            before, texts, after = _split(part, ifs)
            for number, text in enumerate(texts):
                if number or before:
                    flush()
                current = [*(current or []), text]
                origin = origin or source
                globbed = globbed or (isinstance(text, str) and _is_pattern(text))
            if (before and not texts) or after:
                flush()
    flush()
    return result


def _is_pattern(text: str) -> bool:
    return "*" in text or "?" in text


def _pattern(value: Value) -> Value:
    why = f"{shorten(value.guess or '*')} is matched against the files of the training host"
    return Value((Hole(combine([value.reason, why]), value.guess, True),), value.source)


def _split(part: Part, ifs: str) -> tuple[bool, list[Part], bool]:
    """Whether a border stands before, the parts between borders, whether one stands behind."""
    if isinstance(part, Hole):
        if part.value is None or not part.value.strip(ifs):
            return False, [part], False
        before, texts, after = _cut(part.value, ifs)
        return before, [Hole(part.reason, text, True) for text in texts], after
    before, texts, after = _cut(part, ifs)
    return before, list(texts), after


def remainder(text: str, ifs: str, skip: int) -> str:
    """What is left of a line behind its first fields, as the last name of ``read`` gets it."""
    white = re.escape("".join(char for char in ifs if char in " \t\n")) or "\0"
    hard = re.escape("".join(char for char in ifs if char not in " \t\n")) or "\0"
    rest = text.strip("".join(char for char in ifs if char in " \t\n"))
    for _ in range(skip):
        match = re.match(f"[^{white}{hard}]*(?:[{white}]*[{hard}][{white}]*|[{white}]+|$)", rest)
        rest = rest[match.end() :] if match else rest
    return rest


def _cut(text: str, ifs: str) -> tuple[bool, list[str], bool]:
    white = "".join(char for char in ifs if char in " \t\n")
    hard = "".join(char for char in ifs if char not in " \t\n")
    stripped = text.strip(white) if white else text
    before = bool(white) and text[:1] in tuple(white) and bool(text)
    after = bool(white) and text[-1:] in tuple(white) and bool(text)
    if not stripped:
        return before, [], after
    if not hard:
        return before, re.split(f"[{re.escape(white)}]+", stripped), after
    blanks = f"[{re.escape(white)}]*" if white else ""
    pattern = f"{blanks}[{re.escape(hard)}]{blanks}" + (f"|[{re.escape(white)}]+" if white else "")
    texts = re.split(pattern, stripped)
    if texts and texts[-1] == "":
        texts.pop()
        after = True
    return before, texts, after
