"""CPU_AFFINITY_CONF as torch_npu reads it, release by release, with what it silently ignores.

There are no errors in this grammar: a token that does not fit is passed over, at most with a warning in a log that is
off by default. Only a number above 2147483647 ends the job (std::out_of_range).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_ascendenv.affinity.releases import Rules

Span = tuple[int, int]
"""First and last core as written; a reversed one holds no core."""

_DIGITS = re.compile(r"[0-9]+")
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Ignored:
    """A token without effect: why, and what was probably meant ("" where nobody can tell)."""

    token: str
    why: str
    meant: str = ""


class Overflow(Exception):
    """A number that torch_npu cannot hold: the job ends with std::out_of_range when the NPU is initialised."""


@dataclass
class Conf:
    """What one release took from the string; ``ranges`` maps a device to the spans that replace its default block."""

    mode: int = 0
    ranges: dict[int, list[Span]] = field(default_factory=dict)
    npu_affine: bool = False
    lazy_bind: bool = True
    force: bool = False
    bind_irq: bool = False
    dropped: list[tuple[str, str]] = field(default_factory=list)
    """(token, why) of what had no effect."""
    acted: set[str] = field(default_factory=set)
    """The options that were read so far: their first occurrence counts."""

    def drop(self, token: str, why: str) -> None:
        self.dropped.append((token, why))


def read(text: str, rules: Rules, devices: int) -> Conf:
    """The string as ``rules`` read it for ``devices`` visible NPUs. Raises Overflow with torch_npu's fate."""
    conf = Conf()
    if not text or not rules.reads:
        return conf
    if rules.generation == "A":
        return _strtol(text, conf)
    if _DIGITS.fullmatch(text):
        conf.mode = _number(text)
        return conf
    _flags(text, rules, conf)
    _mode(text, rules, conf)
    for token in tokens(text):
        _token(token, rules, devices, conf)
    return conf


def tokens(text: str) -> list[str]:
    return [token for token in text.split(",") if token]


def _strtol(text: str, conf: Conf) -> Conf:
    """6.0.RC2 and RC3 take the leading number only, and only 1 acts."""
    match = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", text)
    value = max(-(2**63), min(int(match[1][:30]), 2**63 - 1)) if match else 0
    conf.mode = value & 0xFFFFFFFF
    rest = text[match.end() :] if match else text
    if rest:
        conf.drop(rest, "this release reads one leading number and nothing after it")
    return conf


def _flags(text: str, rules: Rules, conf: Conf) -> None:
    """Options are searched anywhere in the text, also inside another token; the first digit after the colon counts."""
    if rules.npu_affine:
        conf.npu_affine = _digit(text, "npu_affine") not in (None, 0)
    if rules.lazy_bind:
        conf.lazy_bind = _digit(text, "lazy_bind") != 0
    if rules.force:
        conf.force = _digit(text, "force") == 1
    if rules.bind_irq:
        conf.bind_irq = _digit(text, "bind_irq") not in (None, 0)


def _digit(text: str, key: str) -> int | None:
    match = re.search(key + r":([0-9])", text)
    return int(match[1]) if match else None


def _mode(text: str, rules: Rules, conf: Conf) -> None:
    found = list(_modes(text, rules))
    if not found:
        return
    token, value = found[0] if rules.first_mode_wins else found[-1]
    for other, _ in found[1:] if rules.first_mode_wins else found[:-1]:
        conf.drop(other, f"the {'first' if rules.first_mode_wins else 'last'} mode counts, which is {token!r}")
    if value is not None:
        conf.mode = _number(value)


def _modes(text: str, rules: Rules) -> Iterator[tuple[str, str | None]]:
    """(token, its digits) of each token that names the mode; from 26.1 a bad ``mode:`` still takes the place."""
    taken = False
    for token in tokens(text):
        key, colon, value = token.partition(":")
        if not colon and _DIGITS.fullmatch(token):
            digits: str | None = token
        elif key == "mode" and (colon or rules.first_mode_wins):
            digits = value if _DIGITS.fullmatch(value) else None
        else:
            continue
        if digits is not None and not (rules.first_mode_wins and taken):
            _number(digits)
        if digits is not None or rules.first_mode_wins:
            yield token, digits
        taken = True


def _token(token: str, rules: Rules, devices: int, conf: Conf) -> None:
    key, colon, value = token.partition(":")
    if not colon:
        if not _DIGITS.fullmatch(token):
            conf.drop(token, "not a mode, and no key:value")
    elif key == "mode":
        if not _DIGITS.fullmatch(value):
            conf.drop(token, "the mode must be digits")
    elif re.fullmatch(r"npu[0-9]{1,2}" if rules.unions_ranges else r"npu[0-9]+", key):
        _range(token, _number(key[3:]), value, rules, devices, conf)
    else:
        _option(token, key, rules, conf)


def _range(token: str, device: int, value: str, rules: Rules, devices: int, conf: Conf) -> None:
    if device >= devices:
        conf.drop(token, f"only {devices} visible NPU{'s' * (devices > 1)}, counted from 0")
        return
    if rules.unions_ranges:
        conf.ranges.setdefault(device, [])  # naming a device empties its default block, whatever follows
    first, dash, last = value.partition("-")
    if not _DIGITS.fullmatch(first) or (dash and not _DIGITS.fullmatch(last)):
        kept = "leaves the device without cores" if rules.unions_ranges else "the device keeps its default block"
        conf.drop(token, f"{value!r} is neither a core nor a range first-last: {kept}")
        return
    span = (_number(first), _number(last if dash else first))
    if span[1] < span[0]:
        conf.drop(token, "the range is reversed, so it holds no core")
    if rules.unions_ranges:
        conf.ranges[device].append(span)
        return
    conf.ranges[device] = [span]  # a later range of the same device replaces it


_OPTIONS = {"npu_affine": "7.1", "lazy_bind": "7.2", "force": "26.1", "bind_irq": "26.2"}
"""Option -> the first release that reads it."""


def _option(token: str, key: str, rules: Rules, conf: Conf) -> None:
    option = next((name for name in _OPTIONS if key.endswith(name) or f"{name}:" in token), "")
    if not option:
        conf.drop(token, f"{key!r} is no key that torch_npu reads")
    elif not getattr(rules, option):
        conf.drop(token, f"{option} is read from {_OPTIONS[option]} on")
    elif not (match := re.search(f"{option}:([0-9])", token)):
        conf.drop(token, f"{option} takes one digit, 0 or 1")
    elif option in conf.acted:
        conf.drop(token, f"the first {option} counts")
    else:
        conf.acted.add(option)
        if option == "force" and match[1] not in "01":
            conf.drop(token, "force must be 0 or 1")


def _number(digits: str) -> int:
    value = int(digits) if len(digits.lstrip("0")) < 12 else _LARGEST + 1
    if value > _LARGEST:
        raise Overflow(
            f"{digits[:24]!r} is above {_LARGEST}: torch_npu ends with std::out_of_range at its first NPU call"
        )
    return value
