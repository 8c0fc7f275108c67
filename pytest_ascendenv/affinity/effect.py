"""What CPU_AFFINITY_CONF will do to a job that is started from here, with this host's release, devices and mask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_ascendenv.affinity.binding import Binding
from pytest_ascendenv.affinity.releases import CURRENT, release_of_wheel, rules
from pytest_ascendenv.affinity.simulate import simulate
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.probes import npu, npu_smi, versions
from pytest_ascendenv.probes.cpu import Cpu
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.verdict import Fact, Unknown

CONF = "CPU_AFFINITY_CONF"
COUNTS = (1, 2, 4, 8, 16)
"""How many NPUs a job may see: the sizes of Atlas A2 and A3 servers and their parts; none has one core an NPU."""

Outcome = Literal["off", "coarse", "fine", "crash"]


@dataclass(frozen=True)
class Effect:
    """What one release does. ``devices_known``: whether the cores of ``binding`` are those of this host's NPUs."""

    outcome: Outcome
    binding: Binding
    devices_known: bool
    why: str = ""
    note: str = ""

    @property
    def releases(self) -> str:
        return rules(self.binding.release).releases


class Affinity:
    """``ascend_env.affinity``: the model of this host's binding. Values that cannot be told raise Unknown."""

    def __init__(self, host: Host, cpu: Cpu, declared: Declared) -> None:
        self._host, self._cpu, self._declared = host, cpu, declared

    @cached_property
    def conf(self) -> Fact:
        """CPU_AFFINITY_CONF of the judged process."""
        value = self._host.environ.get(CONF)
        source = "environment of this process"
        return Fact(CONF, value, source) if value is not None else Fact.unset(CONF, "nothing is bound", source)

    @property
    def text(self) -> str:
        return self.conf.value if self.conf.status == "known" else ""

    @cached_property
    def devices(self) -> Fact:
        """The NPUs the job would see."""
        return npu.devices(self._host)

    @cached_property
    def release(self) -> Fact:
        """The release of torch_npu: declared, or of the installed wheel; unset where none is installed."""
        name = "torch_npu release"
        if self._declared.torch_npu_release is not None:
            return Fact(name, self._declared.torch_npu_release, "settings: torch_npu_release")
        installed = self._installed("torch_npu")
        if installed.status != "known":
            return Fact.unset(name, None, installed.source, installed.reason or "torch_npu is not installed here")
        release = release_of_wheel(installed.value)
        if release is None:
            return Fact.unknown(name, f"torch_npu {installed.value} is no wheel that is known here", installed.source)
        return Fact(name, release, f"torch_npu {installed.value}, installed")

    @cached_property
    def framework(self) -> Fact:
        """What will read the variable: "mindspore" or "torch_npu" as declared, or as the installed packages tell."""
        if self._declared.framework is not None:
            return Fact("framework", self._declared.framework, "settings: framework")
        if self._declared.torch_npu_release is not None:
            return Fact("framework", "torch_npu", "settings: torch_npu_release")
        torch_npu, mindspore = (self._installed(name) for name in ("torch_npu", "mindspore"))
        if torch_npu.status == "unset" and mindspore.status == "known":
            return Fact("framework", "mindspore", "installed packages", "conditional", "the job runs here")
        if torch_npu.status == "known" and mindspore.status == "unset":
            return Fact("framework", "torch_npu", "installed packages")
        return Fact.unset("framework", None, "installed packages")

    def _installed(self, name: str) -> Fact:
        """A package of this interpreter; another host's files do not tell its packages."""
        if self._host.real:
            return versions.installed(name)
        return Fact.unset(name, None, "a captured host", "the packages of a captured host are not known")

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """One effect for the known release, else one for each generation in use (6.0 to 7.0, 7.1 to 26.0, 26.1)."""
        return self._effects(self.text)

    @property
    def mode(self) -> Outcome:
        """The effect that all releases in question agree on; raises Unknown with what each would do."""
        outcomes = {effect.outcome for effect in self.effects}
        if len(outcomes) > 1:
            each = "; ".join(f"{effect.releases}: {effect.outcome}" for effect in self.effects)
            raise Unknown(f"the release of torch_npu is not known, and releases differ: {each}")
        return outcomes.pop()

    @property
    def binding(self) -> Binding:
        """The simulated cores; raises Unknown where no NPU is visible or the release is not known."""
        if not self.devices.value:
            raise Unknown("no /dev/davinci* here, so the cores of a job cannot be predicted")
        if self.release.status != "known":
            raise Unknown("which release of torch_npu will run is not known: set torch_npu_release")
        return self.effects[0].binding

    def does(self, text: str) -> set[Outcome]:
        """What another string would do here in the releases in question."""
        return {effect.outcome for effect in self._effects(text)}

    def _effects(self, text: str) -> tuple[Effect, ...]:
        known = self.release.value if self.release.status == "known" else None
        return tuple(self._effect(text, release) for release in ((known,) if known else CURRENT))

    def _effect(self, text: str, release: str) -> Effect:
        count = len(self.devices.value)
        if count:
            binding = self.simulate(text, release, count)
            return Effect(_outcome(binding), binding, True, binding.reason)
        return self._without_devices(text, release)

    def _without_devices(self, text: str, release: str) -> Effect:
        """Without an NPU: off where every plausible number of NPUs leaves it skipped, else what the grammar says."""
        counts = [count for count in COUNTS if count <= max(1, len(self._cpu.online) // 2)]
        bindings = [self.simulate(text, release, count) for count in counts]
        binding = bindings[0]
        if binding.crashes or binding.mode == "off":
            return Effect(_outcome(binding), binding, False, binding.reason)
        skipped = [one for one in bindings if not one.binds]
        if len(skipped) == len(bindings):
            return Effect("off", binding, False, binding.reason)
        note = "whether it binds at all depends on the number of visible NPUs, none of which is here" if skipped else ""
        return Effect(binding.mode, binding, False, "", note)

    def simulate(self, text: str, release: str, devices: int) -> Binding:
        """What another string would do on this host."""
        cpu = self._cpu
        local = self.topology.value if "npu_affine" in text else None
        return simulate(
            text,
            cpus=cpu.online,
            devices=devices,
            mask=cpu.allowed,
            cpuset=cpu.granted,
            release=release,
            topology=local,
        )

    @cached_property
    def topology(self) -> Fact:
        """The cores that the driver calls local to each NPU ("144-167"); asked of npu-smi, which npu_affine goes by."""
        name, source = "local cores of the NPUs", "npu-smi info -t topo"
        if not self._host.real:
            return Fact.unknown(name, "npu-smi cannot be asked of a captured host", source)
        try:
            return Fact(name, npu_smi.topology(npu_smi.query("-t", "topo")), source)
        except Unknown as reason:
            return Fact.unknown(name, str(reason), source)


def _outcome(binding: Binding) -> Outcome:
    return "crash" if binding.crashes else binding.effective
