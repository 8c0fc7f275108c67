"""npu_affine: how torch_npu shares the cores that the driver calls local to its cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_ascendenv.affinity.grammar import Span
from pytest_ascendenv.probes import cpulist


class Aborts(Exception):
    """torch_npu ends with a failed check on this topology."""


def texts(topology: Mapping[int, str | Iterable[int]] | None) -> dict[int, str] | None:
    """Card -> its list as the driver writes it. Raises ValueError for a list that no driver writes."""
    if topology is None:
        return None
    if not isinstance(topology, Mapping):
        raise ValueError(f'topology maps a card to its cores, as in {{0: "144-167"}}; found {topology!r}')
    found = {}
    for card, cores in ((_card(card), cores) for card, cores in topology.items()):
        found[card] = (cores if isinstance(cores, str) else cpulist.show(cores)).replace(" ", "")
        cpulist.parse(found[card])
    return found


def _card(card: int | str) -> int:
    """A number, or its digits as JSON has them."""
    if isinstance(card, int) or card.isdecimal():
        return int(card)
    raise ValueError(f"topology maps the number of a card to its cores; found {card!r}")


def blocks(cards: Mapping[int, str], reading: str) -> dict[int, list[Span]]:
    """Card -> its share; cards with the same list split it evenly. ``reading`` is Rules.topology.

    A card without a list turns the option off for all. Raises Aborts where that release ends the job.
    """
    if not all(cards.values()):
        return {}
    found: dict[int, list[Span]] = {}
    for text in dict.fromkeys(cards.values()):
        alike = sorted(card for card, other in cards.items() if other == text)
        found.update(_lists(text, alike) if reading == "list" else _halves(text, alike, reading))
    return found


def _lists(text: str, alike: list[int]) -> dict[int, list[Span]]:
    """From 26.1: all ranges count (a lone core does not), and the last card takes the rest."""
    cores = [core for part in text.split(",") if "-" in part for core in cpulist.parse(part)]
    size = len(cores) // len(alike)
    shares = {}
    for place, card in enumerate(alike):
        last = len(cores) if place == len(alike) - 1 else (place + 1) * size
        shares[card] = [(core, core) for core in (cores[place * size : last] if size else cores)]
    return shares


def _halves(text: str, alike: list[int], reading: str) -> dict[int, list[Span]]:
    """7.1 and 7.2 take the first range and forget the rest; 7.3 and 26.0 end on anything but one range."""
    match = re.match(r"([0-9]+)-([0-9]+)(.*)", text)
    if not match or int(match[1]) >= int(match[2]) or (match[3] and reading == "abort"):
        raise Aborts(f"npu_affine: torch_npu ends on the driver's core list {text!r} (affinity cpu is error)")
    first, size = int(match[1]), (int(match[2]) - int(match[1]) + 1) // len(alike)
    return {card: [(first + place * size, first + (place + 1) * size - 1)] for place, card in enumerate(alike)}
