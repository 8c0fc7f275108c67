"""Programs that only turn text into text, evaluated without being run: dirname, basename, expr, seq, cut, tr, awk …"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from pytest_ascendenv.launch.values import Value, combine, known, lift, unknown


class NotPlain(Exception):
    """An option or operand that is not covered: the result is left open."""


Filter = Callable[[Sequence[str], str, str], str]  # arguments, standard input, working directory -> output


def output(name: str, args: Sequence[Value], stdin: Value | None, cwd: Value) -> Value | None:
    """What the program prints, or None where it is not one of these (or uses more of it than is covered)."""
    function = TABLE.get(name)
    if function is None or (stdin is None and name in READERS):
        return None
    try:
        values = [*args, stdin if stdin is not None else Value(), cwd]
        if cwd.guess is None and name in PATHS:
            return unknown(cwd.reason)
        if cwd.guess is None:
            values[-1] = known("/")
        return lift(values, lambda *texts: function(texts[:-2], texts[-2], texts[-1]))
    except NotPlain:
        return None


def echo(args: Sequence[Value]) -> Value:
    """``echo``: known parts stay known."""
    words = list(args)
    newline, escapes = True, False
    while words and words[0].text is not None and re.fullmatch(r"-[neE]+", words[0].text):
        flags = words.pop(0).text or ""
        newline = newline and "n" not in flags
        escapes = "e" in flags or (escapes and "E" not in flags)
    parts = [part for number, word in enumerate(words) for part in ((" ",) if number else ()) + word.parts]
    value = Value(tuple(parts))
    if escapes:
        value = lift([value], unescape)
    return Value((*value.parts, "\n")) if newline else value


def unescape(text: str) -> str:
    table = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "e": "\x1b", "033": "\x1b"}
    return re.sub(r"\\(033|.)", lambda match: table.get(match[1], match[0]), text, flags=re.DOTALL)


def printf(args: Sequence[Value]) -> Value:
    if not args or args[0].text is None:
        return unknown(combine(word.reason for word in args) or "printf without a format")
    try:
        return lift(args, _printf)
    except (NotPlain, ValueError, TypeError):
        return unknown("a printf format that is not evaluated here")


def _printf(form: str, *words: str) -> str:
    form = unescape(form)
    wanted = re.findall(r"%[-0 +#]*\d*(?:\.\d+)?([sdiuxXf%bcq])", form)
    size = len([kind for kind in wanted if kind != "%"])
    if "%" in re.sub(r"%[-0 +#]*\d*(?:\.\d+)?[sdiuxXfc%]", "", form):
        raise NotPlain
    if not size:
        return form.replace("%%", "%")
    rounds = max(1, -(-len(words) // size))
    queue = list(words) + [""] * (rounds * size - len(words))
    kinds = [kind for kind in wanted if kind != "%"] * rounds
    values = tuple(_convert(kind, word) for kind, word in zip(kinds, queue, strict=True))
    return (re.sub(r"%([-0 +#]*\d*(?:\.\d+)?)[iu]", r"%\1d", form) * rounds) % values


def _convert(kind: str, word: str) -> str | int | float:
    if kind in "diuxX":
        return int(word or "0", 0 if word.startswith("0x") else 10)
    return float(word or 0) if kind == "f" else word


def _operands(args: Sequence[str], allowed: str = "") -> list[str]:
    rest = [word for word in args if word != "--"]
    for word in rest:
        if word.startswith("-") and len(word) > 1 and not (allowed and re.fullmatch(allowed, word)):
            raise NotPlain
    return [word for word in rest if not (word.startswith("-") and len(word) > 1)]


def dirname(args: Sequence[str], stdin: str, cwd: str) -> str:
    return "".join(
        (os.path.dirname(word.rstrip("/") or "/") or ("/" if word[:1] == "/" else ".")) + "\n"
        for word in _operands(args)
    )


def basename(args: Sequence[str], stdin: str, cwd: str) -> str:
    words = _operands(args)
    if not 1 <= len(words) <= 2:
        raise NotPlain
    base = os.path.basename(words[0].rstrip("/")) or "/"
    if len(words) == 2 and base.endswith(words[1]) and base != words[1]:
        base = base[: len(base) - len(words[1])]
    return base + "\n"


def realpath(args: Sequence[str], stdin: str, cwd: str) -> str:
    words = _operands(args, "-[efmsqz]+|--canonicalize.*")
    return "".join(os.path.realpath(os.path.join(cwd, word)) + "\n" for word in words)


def readlink(args: Sequence[str], stdin: str, cwd: str) -> str:
    if not any(re.fullmatch("-[fem]+", word) for word in args):
        raise NotPlain
    return realpath(args, stdin, cwd)


def pwd(args: Sequence[str], stdin: str, cwd: str) -> str:
    return cwd + "\n"


def seq(args: Sequence[str], stdin: str, cwd: str) -> str:
    separator, words = "\n", list(args)
    if words[:1] == ["-s"] and len(words) > 2:
        separator, words = words[1], words[2:]
    if not 1 <= len(words) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
        raise NotPlain
    numbers = [int(word) for word in words]
    first, step, last = (
        (1, 1, *numbers) if len(numbers) == 1 else (numbers[0], 1 if len(numbers) == 2 else numbers[1], numbers[-1])
    )
    if step == 0 or abs(last - first) // abs(step) > 10000:
        raise NotPlain
    chosen = range(first, last + (1 if step > 0 else -1), step)
    return separator.join(map(str, chosen)) + ("\n" if chosen else "")


def expr(args: Sequence[str], stdin: str, cwd: str) -> str:
    words = list(args)
    if len(words) == 1:
        return words[0] + "\n"
    if len(words) < 3 or len(words) % 2 == 0:
        raise NotPlain
    return _expr(words) + "\n"


LEVELS = ({"=", "==", "!=", "<", ">", "<=", ">="}, {"+", "-"}, {"*", "/", "%"})


def _expr(words: list[str], level: int = 0) -> str:
    if len(words) == 1:
        return words[0]
    for index in range(level, len(LEVELS)):
        for at in range(len(words) - 2, 0, -2):
            if words[at] in LEVELS[index]:
                return _expr_apply(words[at], _expr(words[:at], index), _expr(words[at + 1 :], index + 1))
    raise NotPlain


def _expr_apply(sign: str, left: str, right: str) -> str:
    numbers = all(re.fullmatch(r"-?\d{1,18}", word) for word in (left, right))
    if sign in LEVELS[0]:
        if not numbers and sign not in ("=", "==", "!="):
            raise NotPlain
        a, b = (int(left), int(right)) if numbers else (left, right)
        table = {"=": a == b, "==": a == b, "!=": a != b}
        if numbers:
            table |= {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}  # type: ignore[operator]
        return str(int(table[sign]))
    if not numbers or (sign in "/%" and int(right) == 0):
        raise NotPlain
    a, b = int(left), int(right)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return str({"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - b * quotient}[sign])


def cat(args: Sequence[str], stdin: str, cwd: str) -> str:
    if _operands(args):
        raise NotPlain
    return stdin


def cut(args: Sequence[str], stdin: str, cwd: str) -> str:
    options = dict(re.findall(r"-([dfc])\0?([^\0]*)", "\0".join(args)))
    if set(options) - {"d", "f"} or not re.fullmatch(r"\d+(-\d*)?|-\d+|\d+(,\d+)*", options.get("f", "")):
        raise NotPlain
    delimiter = options.get("d", "\t") or "\t"
    return "".join(_cut(line, delimiter, options["f"]) + "\n" for line in stdin.splitlines())


def _cut(line: str, delimiter: str, chosen: str) -> str:
    if delimiter not in line:
        return line
    parts = line.split(delimiter)
    if "-" in chosen:
        first, _, last = chosen.partition("-")
        return delimiter.join(parts[int(first or 1) - 1 : int(last) if last else None])
    return delimiter.join(parts[int(n) - 1] for n in sorted(set(chosen.split(",")), key=int) if int(n) <= len(parts))


def tr(args: Sequence[str], stdin: str, cwd: str) -> str:
    words = [_ranges(unescape(word)) for word in args if word not in ("-d", "-s")]
    if args[:1] == ["-d"] or (args and args[0] == "-d"):
        return "".join(char for char in stdin if char not in words[0])
    if "-s" in args or len(words) != 2 or not words[1] or args[0].startswith("-"):
        raise NotPlain
    second = words[1] + words[1][-1] * max(0, len(words[0]) - len(words[1]))
    return stdin.translate(
        {ord(a): b for a, b in zip(reversed(words[0]), reversed(second[: len(words[0])]), strict=True)}
    )


def _ranges(text: str) -> str:
    if "[:" in text:
        known_classes = {"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz"}
        if text not in known_classes:
            raise NotPlain
        return known_classes[text]
    return re.sub(r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), text)


def wc(args: Sequence[str], stdin: str, cwd: str) -> str:
    counts = {"-l": stdin.count("\n"), "-w": len(stdin.split()), "-c": len(stdin.encode())}
    if len(args) != 1 or args[0] not in counts:
        raise NotPlain
    return f"{counts[args[0]]}\n"


def head(args: Sequence[str], stdin: str, cwd: str) -> str:
    match = re.fullmatch(r"(?:-n\0?|-)(\d+)", "\0".join(args))
    if match is None:
        raise NotPlain
    return "".join(stdin.splitlines(True)[: int(match[1])])


def awk(args: Sequence[str], stdin: str, cwd: str) -> str:
    """``awk -F x '{print $N}'`` with one field or NF, which is what launch scripts ask of it."""
    match = re.fullmatch(r"(?:-F\0?([^\0]+)\0)?\{ ?print +(\$\d+|NF|\$NF) ?;? ?\}", "\0".join(args))
    if match is None or (match[1] and len(match[1]) != 1):
        raise NotPlain
    lines = [line.split(match[1]) if match[1] and match[1] != " " else line.split() for line in stdin.splitlines()]
    return "".join(_field(parts, match[2]) + "\n" for parts in lines)


def _field(parts: list[str], wanted: str) -> str:
    if wanted == "NF":
        return str(len(parts))
    if wanted == "$0":
        raise NotPlain
    index = len(parts) if wanted == "$NF" else int(wanted[1:])
    return parts[index - 1] if 0 < index <= len(parts) else ""


TABLE: dict[str, Filter] = {
    "dirname": dirname, "basename": basename, "realpath": realpath, "readlink": readlink, "pwd": pwd, "seq": seq,
    "expr": expr, "cat": cat, "cut": cut, "tr": tr, "wc": wc, "head": head, "awk": awk, "gawk": awk,
}  # fmt: skip
READERS = frozenset(["cat", "cut", "tr", "wc", "head", "awk", "gawk"])
PATHS = frozenset(["realpath", "readlink", "pwd"])
