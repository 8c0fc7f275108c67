"""Versions that are known to break together."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Fact, Finding, Verdict

# The newest MindSpore seen to call np.array(x, copy=False) on rows of a GeneratorDataset, which numpy 2 refuses.
BROKEN_UP_TO = Version("2.10.0")
NUMPY_2 = Version("2")


class Versions:
    """MindSpore with numpy 2: rows that hold an int, a numpy scalar or a str raise "Unable to avoid copy".

    Source: MindSpore 2.10.0, dataset/engine/datasets_user_defined.py ``_convert_row``, run with numpy 2.4 and 1.26.
    2.7 to 2.9 declare numpy<2 themselves; 2.10 declares no upper bound.
    """

    name = "versions"
    when: Literal["before"] = "before"

    def parse(self) -> None:
        return None

    def judge(self, wanted: None, env: AscendEnv) -> Finding:
        mindspore, numpy = env.version("mindspore"), env.version("numpy")
        broken = _breaks(mindspore, numpy)
        return Finding(
            self.name,
            Verdict.FAIL if broken else Verdict.PASS,
            expected="versions that are not known to break together",
            found=f"MindSpore {mindspore.value} with numpy {numpy.value}" if broken else _together(mindspore, numpy),
            subject="this Python environment",
            evidence=(mindspore, numpy),
            cause="numpy 2 refuses the array conversion that MindSpore makes for rows with scalars or strings"
            if broken
            else "",
            fix='pip install "numpy>=1.25,<2"' if broken else "",
            reference="MindSpore's mindspore/dataset/engine/datasets_user_defined.py, _convert_row" if broken else "",
        )


def _breaks(mindspore: Fact, numpy: Fact) -> bool:
    both = mindspore.get() is not None and numpy.get() is not None
    return both and Version(mindspore.value) <= BROKEN_UP_TO and Version(numpy.value) >= NUMPY_2


def _together(*facts: Fact) -> str:
    return ", ".join(f"{fact.name} {fact.value or 'not installed'}" for fact in facts)
