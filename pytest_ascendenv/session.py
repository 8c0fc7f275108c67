"""What one pytest run checks: the settings, the known preconditions, and the findings so far."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_ascendenv import checks as registry
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.markers import Checks
from pytest_ascendenv.options import SUBJECTS
from pytest_ascendenv.probes.capture import restore
from pytest_ascendenv.probes.host import Host
from pytest_ascendenv.requirements import Requirement, read_arguments
from pytest_ascendenv.settings import Given, Settings, SettingsError, read
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

if TYPE_CHECKING:
    from pytest_ascendenv.settings import Waiver
    from pytest_ascendenv.training.rate import Rate

# `import mindspore` (2.10) sets these itself; a judgement made later must not blame the user for them.
SET_BY_MINDSPORE = ("HCCL_CONNECT_TIMEOUT", "LD_LIBRARY_PATH", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION")


@dataclass
class Session:
    """One run. ``environ`` is the environment as it was when pytest was configured; ``workers`` are xdist's."""

    settings: Settings
    checks: Checks
    environ: Mapping[str, str]
    gate: bool = False
    against: str | None = None
    captured: Host | None = None
    workers: int = 1
    advise: bool = False
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def declared(self) -> bool:
        """Whether there is anything of the user's to judge: a precondition, or a subject that has rules of its own."""
        return bool(self.settings.required or self._rules)

    @cached_property
    def required(self) -> Mapping[str, Requirement]:
        """The declared preconditions, then the rules of the declared subjects that need no expected value.

        With no precondition declared, the checks of this host that need none come first.
        """
        names = self._rules if self.settings.required else [*registry.HOST_CHECKS, *self._rules]
        return {**self.settings.required, **{name: self._built_in(name) for name in names}}

    @property
    def _rules(self) -> list[str]:
        known = {*self.settings.required, *self.settings.dropped}
        subjects = [key for key in registry.SUBJECT_CHECKS if getattr(self.settings.declared, key)]
        return [name for key in subjects for name in registry.SUBJECT_CHECKS[key] if name not in known]

    def _built_in(self, name: str) -> Requirement:
        check = self.checks[name]
        return Requirement(check, read_arguments(check, (), {}), name, "built in")

    def env(self, subject: str = "this process") -> AscendEnv:
        """A fresh view of the host with the environment as it is now; or of the captured one."""
        host = self.captured or Host(environ=environ_now(self.environ))
        return AscendEnv(host, self.settings.declared, subject)

    def finding(self, requirement: Requirement) -> Finding:
        """The finding of an item, judged once a run."""
        if requirement.name not in self.findings:
            self.findings[requirement.name] = requirement.judge(self._host, on_launch=self._on_launch(requirement.name))
        return self.findings[requirement.name]

    @cached_property
    def _host(self) -> AscendEnv:
        """What the items share: a program is captured, a script is read once."""
        env = self.env()
        if requirement := self.settings.required.get("min_throughput"):
            wanted = requirement.wanted
            env.measuring = {"floor": wanted.rate, "max_variation": wanted.max_variation, "others": self.workers - 1}
            env.advise = self.advise
        return env

    def measured(self, requirement: Requirement) -> Rate | None:
        """What was measured of the declared program for an item that asked for it."""
        declared = self.settings.declared.program is not None
        return self._host.program_rate if declared and requirement.name == "min_throughput" else None

    def _on_launch(self, name: str) -> bool:
        """Whether an item judges the launch script; of training, a captured program tells more than its settings."""
        declared = self.settings.declared
        return declared.launch is not None and not (declared.program and name in registry.OF_PROGRAM)

    def difference(self) -> str:
        """How the declared launch script differs from the one it is held against."""
        from pytest_ascendenv.launch.diff import as_text
        from pytest_ascendenv.launch.diff_command import compare
        from pytest_ascendenv.launch.nouns import LaunchSubject

        other = LaunchSubject(msgspec.structs.replace(self.settings.declared, launch=self.against))
        try:
            found = compare(self._host.launch.description, other.description)
            return as_text(found, self._host.launch.name, other.name)
        except Unknown as reason:
            return f"could not compare with {self.against}: {reason}"

    def waiver(self, finding: Finding) -> Waiver | None:
        waiver = self.settings.waivers.get(finding.precondition)
        return waiver if waiver and waiver.holds(datetime.date.today()) else None

    def met(self, finding: Finding) -> bool:
        """Whether the gate may stay open: met, waived, or unknown where the settings say to skip that."""
        if finding.verdict is Verdict.UNKNOWN:
            return self.settings.declared.unknown == "skip"
        return finding.verdict is Verdict.PASS or self.waiver(finding) is not None


def environ_now(snapshot: Mapping[str, str]) -> dict[str, str]:
    """The live environment, without what ``import mindspore`` has changed in it since the snapshot."""
    now = {name: value for name, value in os.environ.items() if name not in SET_BY_MINDSPORE}
    return {**now, **{name: snapshot[name] for name in SET_BY_MINDSPORE if name in snapshot}}


def read_settings(config: pytest.Config, checks: Checks) -> Settings:
    """The settings of this run; every mistake becomes one usage error (exit code 4)."""
    given = Given(
        require=config.getoption("ascend_env_require"),
        file=config.getoption("ascend_env_config"),
        profile=config.getoption("ascend_env_profile"),
        values={key: value for key in SUBJECTS if (value := config.getoption(f"ascend_env_{key}"))},
    )
    try:
        return read(given, folders(config), config.invocation_params.dir, checks)
    except SettingsError as error:
        raise pytest.UsageError(f"ascend-env: {error}") from None


def captured_host(config: pytest.Config) -> Host | None:
    """The host of ``--ascend-env-facts`` as files in a folder that goes with the run."""
    file = config.getoption("ascend_env_facts")
    if file is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="ascend-env-host-")
    config.add_cleanup(folder.cleanup)
    try:
        document = json.loads((config.invocation_params.dir / file).read_text(encoding="utf-8"))
        return restore(document, Path(folder.name))
    except (OSError, ValueError, AttributeError) as error:
        raise pytest.UsageError(f"ascend-env: --ascend-env-facts {file}: {error}") from None


def folders(config: pytest.Config) -> list[Path]:
    """Where settings are looked for: from what the run is about up to the root folder, then from the working folder."""
    cwd = config.invocation_params.dir.resolve()
    root = config.rootpath.resolve()
    paths = [path.resolve() for arg in config.args if (path := cwd / arg.partition("::")[0]).exists()]
    start = Path(os.path.commonpath(paths)) if paths else cwd
    found: dict[Path, None] = {}
    for low in (start if start.is_dir() else start.parent, *paths, cwd):
        upwards = [low, *low.parents]
        top = upwards.index(root) + 1 if root in upwards else 1
        found.update(dict.fromkeys(upwards[:top]))
    found[config.inipath.resolve().parent if config.inipath else root] = None
    found[root] = None
    return list(found)
