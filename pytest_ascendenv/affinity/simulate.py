"""Which cores each thread of a torch_npu job will get from CPU_AFFINITY_CONF, or why none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_ascendenv.affinity import grammar, lint, threads
from pytest_ascendenv.affinity import topology as local
from pytest_ascendenv.affinity.binding import Binding, DeviceBinding, Mode
from pytest_ascendenv.affinity.releases import Rules, rules
from pytest_ascendenv.probes import cpulist

Cores = str | Iterable[int]
LARGEST = 8192  # cores of the largest kernel configuration (CONFIG_NR_CPUS)


def simulate(
    conf: str | None,
    *,
    cpus: int | Cores,
    devices: int,
    mask: Cores | None = None,
    release: str = "7.3.0",
    topology: Mapping[int, Cores] | None = None,
    cpuset: Cores | None = None,
) -> Binding:
    """What ``conf`` (the value of CPU_AFFINITY_CONF; None or "" where it is not set) does to a job.

    ``cpus`` is the number of online cores (or their list), ``devices`` the number of NPUs the job sees, that is after
    ASCEND_RT_VISIBLE_DEVICES. ``mask`` is the affinity that the job starts with (taskset, numactl, msrun --bind_core)
    and ``cpuset`` what the kernel grants at all; each defaults to everything. ``release`` is the release of the Ascend
    Extension for PyTorch ("6.0.0", "7.3.0", "26.1.0", "master") or the version of a wheel ("2.6.0.post3");
    ``topology`` maps a card to its local cores as ``npu-smi info -t topo`` prints them ("144-167").

    Raises ValueError for arguments that describe no machine or an unknown release; never for any ``conf``.
    """
    if not (conf is None or isinstance(conf, str)) or not isinstance(release, str):
        raise ValueError(f"conf and release are strings; found {conf!r} and {release!r}")
    follow = rules(release)
    online = tuple(range(min(cpus, LARGEST + 1))) if isinstance(cpus, int) else _cores(cpus)
    if not 1 <= len(online) <= LARGEST or not 1 <= devices <= LARGEST:
        raise ValueError(f"a machine has 1 to {LARGEST} cores and NPUs; found {len(online)} cores, {devices} NPUs")
    granted = frozenset(online) & frozenset(_cores(cpuset) if cpuset is not None else online)
    start = granted & frozenset(_cores(mask)) if mask is not None else granted
    if not start:
        raise ValueError("the mask and the cpuset leave no core of this machine")
    return _Simulation(conf or "", follow, len(online), devices, start, granted, local.texts(topology)).run(release)


def _cores(value: Cores) -> tuple[int, ...]:
    return cpulist.parse(value) if isinstance(value, str) else tuple(sorted(set(value)))


class _Simulation:
    def __init__(
        self,
        text: str,
        follow: Rules,
        cpus: int,
        devices: int,
        mask: frozenset[int],
        granted: frozenset[int],
        topology: Mapping[int, str] | None,
    ) -> None:
        self.text, self.rules, self.cpus, self.devices = text, follow, cpus, devices
        self.mask, self.granted, self.topology = mask, granted, topology
        self.notes: list[str] = []

    def run(self, release: str) -> Binding:
        try:
            conf = grammar.read(self.text, self.rules, self.devices)
            mode = effect(conf.mode, self.rules)
            blocks = self._blocks(conf) if mode != "off" else []
        except (grammar.Overflow, local.Aborts) as error:
            # Until 7.0 the mask is looked at before the string, which is then never read.
            unread = threads.conflict(self.rules, [], self.mask, self.cpus)
            return self._binding(release, "off", grammar.Conf(), unread or str(error), crashes=not unread)
        if mode == "off":
            return self._binding(release, mode, conf, self._why_off(conf))
        skipped = "" if conf.force else threads.conflict(self.rules, blocks, self.mask, self.cpus)
        if skipped:
            return self._binding(release, mode, conf, skipped)
        return self._bound(release, mode, conf, blocks)

    def _blocks(self, conf: grammar.Conf) -> list[threads.Block]:
        blocks = [threads.default_block(self.rules, device, self.cpus, self.devices) for device in range(self.devices)]
        if conf.npu_affine:
            blocks = self._affine(blocks)
        if mode_takes_ranges(conf.mode, self.rules):
            blocks = [conf.ranges.get(device, block) for device, block in enumerate(blocks)]
        elif conf.ranges:
            self.notes.append("this release reads npuN ranges only with mode 1, so mode 2 keeps the default blocks")
        if conf.bind_irq:
            blocks = [threads.without_first_two(block) for block in blocks]
            self.notes.append("bind_irq acts only for root: it gives the first two cores of each NPU to its interrupts")
        return blocks

    def _affine(self, blocks: Sequence[threads.Block]) -> list[threads.Block]:
        if self.topology is None:
            self.notes.append("npu_affine: the cores come from the driver's topology, which was not given here")
            return list(blocks)
        found = local.blocks(self.topology, self.rules.topology)
        return [found.get(device, block) for device, block in enumerate(blocks)]

    def _bound(self, release: str, mode: Mode, conf: grammar.Conf, blocks: Sequence[threads.Block]) -> Binding:
        devices = tuple(threads.assign(self.rules, mode, block, self.granted) for block in blocks)
        shared = [index for index, block in enumerate(blocks) if not threads.splits(self.rules, block)]
        if mode == "fine" and shared:
            least = 7 if self.rules.generation == "B" else 5
            self.notes.append(f"npu{cpulist.show(shared)}: fewer than {least} cores, so all threads share them")
        if self.devices == 1 and set(devices[0].others or ()) == set(range(self.cpus)):
            self.notes.append("with one visible NPU its block is the whole machine: this isolates nothing")
        whole = all(cores == () for device in devices for cores in device.kinds().values())
        reason = (
            "every range is empty or not granted: the kernel refuses them and all threads stay unbound" if whole else ""
        )
        return self._binding(release, mode, conf, reason, devices=devices)

    def _why_off(self, conf: grammar.Conf) -> str:
        if not self.rules.reads:
            return f"torch_npu {self.rules.releases} does not read CPU_AFFINITY_CONF"
        if not self.text:
            return "CPU_AFFINITY_CONF is not set"
        if conf.mode:
            return f"mode {conf.mode} binds nothing in torch_npu {self.rules.releases}"
        named = any(token == "0" or token.startswith("mode:") for token in grammar.tokens(self.text))
        return "the mode is 0" if named or set(self.text) == {"0"} else "no token names a mode, which leaves it 0"

    def _binding(
        self,
        release: str,
        mode: Mode,
        conf: grammar.Conf,
        reason: str,
        devices: tuple[DeviceBinding, ...] = (),
        crashes: bool = False,
    ) -> Binding:
        return Binding(
            mode=mode,
            binds=bool(devices) and not reason,
            reason=reason,
            ignored=lint.ignored(self.text, conf),
            devices=devices or (DeviceBinding(),) * self.devices,
            release=release,
            generation=self.rules.generation,
            notes=tuple(self.notes),
            lazy=conf.lazy_bind,
            forced=conf.force,
            crashes=crashes,
        )


def effect(mode: int, follow: Rules) -> Mode:
    """What a mode number does."""
    if mode == 1:
        return "coarse"
    if follow.generation == "A":
        return "off"
    return "fine" if mode == 2 or (mode > 2 and follow.any_mode_is_fine) else "off"


def mode_takes_ranges(mode: int, follow: Rules) -> bool:
    return mode == 1 or follow.fine_takes_ranges
