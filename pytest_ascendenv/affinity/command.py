"""``python -m pytest_ascendenv affinity CONF …``: what would this value of CPU_AFFINITY_CONF do?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from pytest_ascendenv.affinity.binding import Binding
from pytest_ascendenv.affinity.releases import CURRENT, rules
from pytest_ascendenv.affinity.simulate import simulate
from pytest_ascendenv.verdict import Unknown

DEFAULT = "7.3.0"
USAGE_ERROR = 4


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def main(argv: Sequence[str]) -> int:
    parser = _parser()
    given = parser.parse_args(list(argv))
    try:
        bindings = _bindings(given)
    except (ValueError, Unknown) as error:
        parser.error(str(error))
    print(json.dumps(_as_json(bindings), indent=2) if given.json else _as_text(given, bindings))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m pytest_ascendenv affinity",
        description="Which cores torch_npu gives to each thread, or why it binds nothing.",
    )
    parser.add_argument("conf", metavar="CONF", help='a value of CPU_AFFINITY_CONF, such as "2,npu0:0-23"')
    parser.add_argument("--cpus", metavar="N", help="online cores, a number or a list (default: those of this host)")
    parser.add_argument("--devices", metavar="M", type=int, help="NPUs the job sees (default: those of this host)")
    parser.add_argument("--mask", metavar="CORES", help="the cores it starts with, as by taskset -c (default: all)")
    parser.add_argument("--cpuset", metavar="CORES", help="the cores its cgroup grants (default: all)")
    parser.add_argument("--release", metavar="R", help=f"release of torch_npu, or a wheel's (default: {DEFAULT})")
    parser.add_argument(
        "--topology",
        metavar="CARD=CORES",
        action="append",
        help='the local cores of a card for npu_affine (repeatable), or a file with "npu-smi info -t topo"\'s output',
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    return parser


def _bindings(given: argparse.Namespace) -> list[Binding]:
    """One for the release that was named, else the default one and those that act otherwise."""
    releases = [given.release] if given.release else [DEFAULT, *(one for one in CURRENT if one != DEFAULT)]
    cpus, devices, topology = _cpus(given.cpus), _devices(given.devices), _topology(given.topology)
    first, *others = [
        simulate(
            given.conf,
            cpus=cpus,
            devices=devices,
            mask=given.mask,
            cpuset=given.cpuset,
            release=release,
            topology=topology,
        )
        for release in releases
    ]
    return [first, *(other for other in others if _differs(first, other))]


def _differs(first: Binding, other: Binding) -> bool:
    """Whether people would call it another effect; that 7.0 splits its cores a little differently is none."""
    return (first.effective, first.crashes) != (other.effective, other.crashes)


def _cpus(text: str | None) -> int | str:
    if text is None:
        from pytest_ascendenv.probes import cpulist
        from pytest_ascendenv.probes.cpu import Cpu
        from pytest_ascendenv.probes.host import Host

        return cpulist.show(Cpu(Host()).online)
    return int(text) if text.isascii() and text.isdigit() else text


def _devices(count: int | None) -> int:
    if count is not None:
        return count
    from pytest_ascendenv.probes import npu
    from pytest_ascendenv.probes.host import Host

    found = len(npu.devices(Host()).value)
    if not found:
        raise ValueError("no NPU is visible here: say how many the job will see, such as --devices 8")
    return found


def _topology(words: Sequence[str] | None) -> dict[int, str] | None:
    if words is None:
        return None
    found = {}
    for word in words:
        card, equals, cores = word.partition("=")
        if equals and card.isascii() and card.isdigit():
            found[int(card)] = cores
        else:
            found.update(_saved_topology(word))
    return found


def _saved_topology(name: str) -> dict[int, str]:
    from pytest_ascendenv.probes import npu_smi

    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return npu_smi.topology(file.read())
    except OSError:
        raise ValueError(
            f"--topology: found {name!r}; it is written CARD=CORES, such as 0=144-167, or names a file"
        ) from None


def _as_json(bindings: Sequence[Binding]) -> dict[str, object]:
    first, *others = bindings
    elsewhere = [{"releases": rules(one.release).releases, "effective": one.effective} for one in others]
    return {**first.as_dict(), "other_releases": elsewhere}


def _as_text(given: argparse.Namespace, bindings: Sequence[Binding]) -> str:
    first, *others = bindings
    lines = [f"CPU_AFFINITY_CONF={given.conf!r}, torch_npu {rules(first.release).releases}: {_summary(first)}"]
    lines += [f"torch_npu {rules(other.release).releases}: {_summary(other)}" for other in others]
    for one in first.ignored:
        lines.append(f"ignored: {one.token!r}, {one.why}" + (f"; probably meant: {one.meant}" if one.meant else ""))
    lines += [f"note: {note}" for note in first.notes]
    return "\n".join([*lines, *(["", first.table()] if first.binds else [])])


def _summary(binding: Binding) -> str:
    if binding.binds:
        return f"{binding.effective} binding"
    asked = f"{binding.mode} binding is asked for, but " if binding.mode != "off" else ""
    return f"{asked}nothing is bound: {binding.reason}"
