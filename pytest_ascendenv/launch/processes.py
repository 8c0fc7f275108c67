"""A python process that is one of several: RANK_ID, DEVICE_NUM and their kin in its environment."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_ascendenv.launch import decode
from pytest_ascendenv.launch.model import Word
from pytest_ascendenv.verdict import Fact

LOCAL = ("DEVICE_NUM", "LOCAL_WORLD_SIZE", "MS_LOCAL_WORKER_NUM")
TOTAL = ("RANK_SIZE", "WORLD_SIZE", "MS_WORKER_NUM")
PLACES = ("RANK_ID", "DEVICE_ID", "RANK", "LOCAL_RANK", "RANK_TABLE_FILE", "MS_ROLE", "MS_NODE_ID")


def one_of_several(env: Mapping[str, Word], name: str) -> Fact | None:
    """``nodes`` or ``devices_per_node`` of a python that a script starts once a device; None for a lone process."""
    local, total = _first(env, LOCAL), _first(env, TOTAL)
    sizes = [word for word in (local, total) if word is not None]
    if sizes and all(word.status == "known" and word.value == "1" for word in sizes):
        return None
    if name == "devices_per_node" and local is not None:
        return decode.word(name, "count", local)
    if name == "nodes" and local is not None and total is not None:
        return _ratio(name, total, local)
    known = next((each for each in (*LOCAL, *TOTAL, *PLACES) if _first(env, (each,)) is not None), None)
    if known is None:
        return None
    word = env[known]
    return Fact.unknown(name, f"{known}={word.value or '?'} makes this one process of several", word.source)


def _first(env: Mapping[str, Word], names: tuple[str, ...]) -> Word | None:
    return next((env[each] for each in names if each in env and env[each].value != ""), None)


def _ratio(name: str, total: Word, local: Word) -> Fact:
    whole, part = decode.count(total.value), decode.count(local.value)
    source = f"{total.source}, {local.source}"
    if total.status != "known" or local.status != "known" or not whole or not part or whole % part:
        return Fact.unknown(name, f"{total.value} processes, {local.value} on each node", source)
    return Fact(name, whole // part, source)
