"""What the tests of the pytest half share: preconditions of a made-up project with every kind of outcome."""

from __future__ import annotations

import importlib

import pytest

# pytester forgets what a run inside this process has imported, but not the attributes of the package: import first.
for module in ("session", "enforce", "items", "report.terminal"):
    importlib.import_module(f"pytest_ascendenv.{module}")

OWN_CHECKS = """
import pytest
from pytest_ascendenv import Fact, Finding, Unknown, Verdict

class Own:
    when = "before"
    def __init__(self, name):
        self.name = name
    def parse(self, wanted=True):
        if wanted == "bad":
            raise ValueError("found 'bad', allowed: anything else")
        return wanted
    def judge(self, wanted, env):
        verdict = {"fine": Verdict.PASS, "broken": Verdict.FAIL}.get(self.name)
        if self.name == "hidden":
            raise Unknown("the tool does not answer")
        if self.name == "crashing":
            raise RuntimeError("probe blew up")
        return Finding(self.name, verdict, expected="a whole one", found="a half one", subject="this host",
                       evidence=(Fact("half", 0.5, "/proc/half"),), cause="it was cut", fix="glue it",
                       notes=("handle with care",) if self.name == "fine" else ())

@pytest.hookimpl(optionalhook=True)
def pytest_ascend_env_checks(config):
    return [Own(name) for name in ("fine", "broken", "hidden", "crashing")]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with preconditions of its own: fine (met), broken (unmet), hidden and crashing (could not tell)."""
    pytester.makeconftest(OWN_CHECKS)
    return pytester
