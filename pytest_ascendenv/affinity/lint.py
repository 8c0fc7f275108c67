"""What an ignored token of CPU_AFFINITY_CONF was probably meant to be."""

from __future__ import annotations

import difflib
import re

from pytest_ascendenv.affinity.grammar import Conf, Ignored

KEYS = ("mode", "npu_affine", "lazy_bind", "force", "bind_irq")
_WORDS = {
    "on": "1",
    "true": "1",
    "yes": "1",
    "coarse": "1",
    "fine": "2",
    "off": "0",
    "false": "0",
    "none": "0",
    "no": "0",
}


def ignored(text: str, conf: Conf) -> tuple[Ignored, ...]:
    """Each dropped token, in the order of the string, with the nearest spelling that torch_npu reads."""
    after_range = _bare_ranges(text)
    return tuple(Ignored(token, why, after_range.get(token) or meant(token)) for token, why in conf.dropped)


def meant(token: str) -> str:
    """The nearest token that torch_npu reads; "" where there is none, or where the token is well spelt already."""
    word = token.strip().strip("'\"").rstrip(";").strip()
    guess = _mode(word) or _device(word) or _pair(word) or _separated(word)
    return guess if guess != token else ""


def _separated(word: str) -> str:
    """Other separators than torch_npu's: "1;npu0:0-3", a dash that is none."""
    plain = re.sub("[\u2010-\u2015\u2212]", "-", word).replace(";", ",").replace("\uff0c", ",").replace("\uff1a", ":")
    parts = [part.strip() for part in plain.split(",") if part.strip()]
    right = re.compile(r"[0-9]{1,3}|npu[0-9]{1,2}:[0-9]+(-[0-9]+)?|(mode|npu_affine|lazy_bind|force|bind_irq):[0-9]")
    return ",".join(parts) if plain != word and all(right.fullmatch(part) for part in parts) else ""


def _mode(word: str) -> str:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    match = re.fullmatch(r"\+?0*([0-9]{1,3})(\.0*)?", word)
    return match[1] if match else ""


def _device(word: str) -> str:
    match = re.fullmatch(r"(?i)npu[\s_.:-]*([0-9]+)\s*[:=]\s*(.*)", word)
    if not match:
        return ""
    cores = [int(number) for number in re.findall(r"[0-9]+", match[2])]
    if len(cores) not in (1, 2) or re.search(r"[^0-9\s.~-]", match[2]):
        return ""
    return f"npu{int(match[1])}:" + "-".join(str(core) for core in sorted(cores))


def _pair(word: str) -> str:
    match = re.fullmatch(r"\s*([A-Za-z][A-Za-z_ -]*?)\s*[:=]\s*(\S.*)", word)
    if not match:
        return ""
    name = match[1].lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(name, KEYS, 1, 0.75)
    value = _mode(match[2].strip())
    return f"{near[0]}:{value}" if near and value else ""


def _bare_ranges(text: str) -> dict[str, str]:
    """ "8-9" after "npu0:0-3" was meant for npu0: each range must repeat the device."""
    device, found = "", {}
    for token in text.split(","):
        match = re.fullmatch(r"\s*(npu[0-9]+):.*", token)
        device = match[1] if match else device
        if device and re.fullmatch(r"\s*[0-9]+-[0-9]+\s*", token):
            found[token] = f"{device}:{token.strip()}"
    return found
