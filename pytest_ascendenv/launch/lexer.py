"""Words and operators of one simple command, as Bash quotes them.

tree-sitter gives the structure of a script; inside a command its tree loses blanks before expansions and cuts
words such as ``"${A}"/$B`` in two, so the text of a command is read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PLAIN = re.compile(r"[^\s'\"\\$`(){}\[\];&|<>#=]+")
INSIDE = re.compile(r"[^'\"\\$`(){}\[\]]+")
BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
OPERATOR = re.compile(r"&>>|<<<|<<-|&>|>>|<<|>&|<&|>\||<>|&&|\|\||\|&|;;|[<>|&;()\n]")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?=)", re.ASCII)
REDIRECTIONS = frozenset(["&>>", "<<<", "<<-", "&>", ">>", "<<", ">&", "<&", ">|", "<>", "<", ">"])
DEEPEST = 100


class Malformed(Exception):
    """A quote or bracket that is never closed."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its quotes, or an operator; ``line`` counts from the start of the text."""

    text: str
    word: bool
    line: int = 0
    glued: bool = False  # stands directly behind the token before


def skip(text: str, i: int, depth: int = 0) -> int:
    """The index behind the quote, escape or expansion that begins at ``i`` (or behind one ordinary character)."""
    if depth > DEEPEST:
        raise Malformed(f"nested deeper than {DEEPEST}")
    char = text[i]
    if char == "\\":
        return i + 2
    if char == "'":
        return _find(text, "'", i + 1)
    if char == '"':
        return _until(text, i + 1, '"', depth, quotes=False)
    if char == "`":
        return _until(text, i + 1, "`", depth, quotes=None)
    if char == "$":
        return _skip_dollar(text, i, depth)
    if text.startswith(("<(", ">("), i):
        return _until(text, i + 2, ")", depth)
    return i + 1


def _skip_dollar(text: str, i: int, depth: int) -> int:
    following = text[i + 1 : i + 2]
    if following == "{":
        return _until(text, i + 2, "}", depth)
    if following == "(":
        return _until(text, i + 2, ")", depth)
    if following == "[":
        return _until(text, i + 2, "]", depth)
    if following == "'":
        return _until(text, i + 2, "'", depth, quotes=None)
    if following == '"':
        return i + 1
    return i + 1


def _find(text: str, char: str, i: int) -> int:
    end = text.find(char, i)
    if end < 0:
        raise Malformed(f"{char} is never closed")
    return end + 1


OPENERS = {")": "(", "}": "{", "]": "["}


def _until(text: str, i: int, closer: str, depth: int, quotes: bool | None = True) -> int:
    """Behind ``closer``. ``quotes`` False: within double quotes; None: only backslashes count."""
    opener = OPENERS.get(closer)
    level = 0
    while i < len(text):
        if plain := INSIDE.match(text, i):
            i = plain.end()
            continue
        char = text[i]
        if char == closer and level == 0:
            return i + 1
        if char == closer:
            level -= 1
        elif char == opener and quotes:
            level += 1
        special = char == "\\" or (quotes is not None and char in "$`") or (quotes and char in "'\"")
        i = skip(text, i, depth + 1) if special else i + 1
    raise Malformed(f"{closer} is missing")


def tokens(text: str, operators: bool = True) -> list[Token]:
    """The words and operators of a command; with ``operators`` False only blanks and newlines separate words."""
    result: list[Token] = []
    i = line = 0
    glued = False
    while i < len(text):
        start = i
        if blank := BLANKS.match(text, i):
            i, glued = blank.end(), False
        elif text[i] == "#" and not glued:
            i = text.find("\n", i) if "\n" in text[i:] else len(text)
        elif (operator := OPERATOR.match(text, i)) and (operators or text[i] == "\n") and not _process(text, i):
            i = operator.end()
            result.append(Token(operator.group(), False, line, glued))
            glued = operator.group() not in "\n;&|"
        else:
            i = _word_end(text, i, operators)
            result.append(Token(text[start:i], True, line, glued))
            glued = True
        line += text.count("\n", start, i)
    return result


def _process(text: str, i: int) -> bool:
    return text.startswith(("<(", ">("), i)


def _word_end(text: str, i: int, operators: bool) -> int:
    start = i
    while i < len(text):
        if plain := PLAIN.match(text, i):
            i = plain.end()
            continue
        char = text[i]
        if char in " \t\n" or (text.startswith("\\\n", i) and text[i + 2 : i + 3] in (" ", "\t")):
            break
        if char == "(" and text[i - 1 : i] == "=" and ASSIGNMENT.fullmatch(text, start, i):
            return _until(text, i + 1, ")", 0)
        if char in "<>" and _process(text, i):
            i = skip(text, i)
        elif char in "<>|&;()" and operators:
            break
        else:
            i = skip(text, i) if char in "'\"\\$`" else i + 1
    return min(i, len(text))


def words(text: str) -> list[Token]:
    """The words of an array literal or a list, newlines being blanks."""
    return [token for token in tokens(text, operators=False) if token.word]


def braces(word: str, limit: int = 4096) -> list[str]:
    """Brace expansion: ``a{b,c}`` and ``{1..3}``, outside quotes and expansions."""
    found = _first_brace(word)
    if found is None:
        return [word]
    start, end, items = found
    result = [word[:start] + item + rest for item in items[:limit] for rest in braces(word[end:], limit)]
    if len(items) > limit or len(result) > limit:
        raise Malformed(f"a brace expansion gives more than {limit} words")
    return [each for text in result for each in (braces(text, limit) if _first_brace(text) else [text])]


def _first_brace(word: str) -> tuple[int, int, list[str]] | None:
    i = 0
    while i < len(word):
        if word[i] != "{":
            i = skip(word, i) if word[i] in "'\"\\$`" else i + 1
            continue
        if found := _brace_items(word, i):
            return i, found[0], found[1]
        i += 1
    return None


def _brace_items(word: str, start: int) -> tuple[int, list[str]] | None:
    items, level, begin, i = [], 0, start + 1, start + 1
    while i < len(word):
        char = word[i]
        if char == "}" and level == 0:
            items.append(word[begin:i])
            sequence = _sequence(items[0]) if len(items) == 1 else items
            return (i + 1, sequence) if sequence else None
        level += (char == "{") - (char == "}")
        if char == "," and level == 0:
            items.append(word[begin:i])
            begin = i + 1
        i = skip(word, i) if char in "'\"\\$`" else i + 1
    return None


def _sequence(text: str) -> list[str]:
    match = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", text, re.ASCII)
    if match is None:
        letters = re.fullmatch(r"([a-zA-Z])\.\.([a-zA-Z])", text, re.ASCII)
        if letters is None:
            return []
        first, last = ord(letters[1]), ord(letters[2])
        return [chr(code) for code in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)]
    first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
    if abs(last - first) // step > 4096:
        raise Malformed("a brace expansion gives more than 4096 words")
    padded = any(re.match(r"-?0\d", end) for end in match.group(1, 2))
    width = max(len(match[1]), len(match[2])) if padded else 0
    numbers = range(first, last + (1 if last >= first else -1), step if last >= first else -step)
    return [f"{number:0{width}d}" for number in numbers]
