"""Blocks of cores and how torch_npu deals them out to its threads (NPUAffinityController.cpp of each release)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ascendenv.affinity.binding import DeviceBinding, Mode
from pytest_ascendenv.affinity.grammar import Span
from pytest_ascendenv.affinity.releases import Rules

Block = Sequence[Span]
"""The spans of one NPU: exactly one before 26.1, a set (any number) from then on."""

SETSIZE = 1024  # cores in a cpu_set_t; what lies beyond is never in a mask
_WRAP = 2**32  # cores are unsigned 32-bit numbers there, so an inverted range wraps


def default_block(rules: Rules, device: int, cpus: int, devices: int) -> Block:
    """The equal share of a device: rounded up until 7.0 (the last one takes the rest), rounded down from 7.1 on."""
    if rules.generation in "AB":
        size = -(-cpus // devices)
        return [(device * size, min((device + 1) * size, cpus) - 1)]
    size = cpus // devices
    if size == 0:
        return [] if rules.unions_ranges else [(device * size, _WRAP - 1)]
    return [(device * size, (device + 1) * size - 1)]


def without_first_two(block: Block) -> Block:
    """What is left for threads where the interrupts take two cores; a block of two or fewer is left alone."""
    cores = members(block)
    return [(core, core) for core in cores[2:]] if len(cores) > 2 else block


def members(block: Block) -> list[int]:
    """The cores in rising order; far beyond the machine a few stand for all, as each of them is missing."""
    cores: set[int] = set()
    for first, last in block:
        cores.update(range(first, min(last, max(first, SETSIZE) + 8) + 1))
    return sorted(cores)


def conflict(rules: Rules, blocks: Sequence[Block], mask: frozenset[int], cpus: int) -> str:
    """Why torch_npu would skip all binding, with the first core that it misses in the mask; "" where it binds."""
    if rules.generation in "AB":
        missing = next((core for core in range(cpus) if core not in mask), None)
        return "" if missing is None else f"core {missing} is not in this process's mask, so torch_npu binds nothing"
    for device, block in enumerate(blocks):
        missing = next((core for core in _checked(rules, block) if core not in mask), None)
        if missing is not None:
            return (
                f"core {missing} of npu{device} is not in this process's mask, "
                "so torch_npu skips the binding of all NPUs with a warning in its log"
            )
    return ""


def _checked(rules: Rules, block: Block) -> Sequence[int]:
    """7.1 to 26.0 do not look at the last core of a range."""
    if rules.unions_ranges:
        return members(block)
    return members([(first, last - 1) for first, last in block])


def splits(rules: Rules, block: Block) -> bool:
    """Whether fine binding finds a core for each kind of thread; else all kinds share the block."""
    if rules.generation == "B":
        first, last = block[0]
        return (last - first) % _WRAP >= 6
    if rules.unions_ranges:
        return len(members(block)) >= 5
    first, last = block[0]
    return (last - first + 1) % _WRAP >= 5


def assign(rules: Rules, mode: Mode, block: Block, granted: frozenset[int]) -> DeviceBinding:
    """The cores of each kind of thread as the kernel would grant them."""
    if mode == "fine" and splits(rules, block):
        return _fine(rules, block, granted)
    cores = _grant(members(block), granted)
    return DeviceBinding(cores, cores, cores, cores, cores, cores)


def _fine(rules: Rules, block: Block, granted: frozenset[int]) -> DeviceBinding:
    if rules.unions_ranges:
        cores = members(block)
        ones, rest = [[core] for core in cores[:5]], cores
    else:
        first, last = block[0]
        ones, rest = [[first + step] for step in range(5)], list(range(first, min(last, SETSIZE) + 1))
    if rules.generation == "B":
        others = [core for core in rest if core >= block[0][0] + 5]
        main, backward, acl, release, watchdog = (_grant(one, granted) for one in ones)
        return DeviceBinding(main, backward, acl, release, watchdog, _grant(others, granted))
    main, acl, release, watchdog = (_grant(one, granted) for one in ones[:4])
    return DeviceBinding(main, main, acl, release, watchdog, _grant(rest[4:], granted))


def _grant(cores: Sequence[int], granted: frozenset[int]) -> tuple[int, ...]:
    return tuple(core for core in cores if core in granted)
