"""Which rules a release of torch_npu reads CPU_AFFINITY_CONF by.

The source of each row is torch_npu/csrc/core/npu/NPUAffinityController.cpp of that release (Ascend/pytorch), and its
COMPATIBILITY.md for the wheels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """How one generation reads and acts; ``releases`` is how people know it."""

    generation: str
    releases: str
    reads: bool = True
    first_mode_wins: bool = False
    any_mode_is_fine: bool = True  # every mode from 2 on; before 7.1 only 2 itself
    fine_takes_ranges: bool = True
    unions_ranges: bool = False
    npu_affine: bool = True
    topology: str = "list"  # what a driver's "a-b,c-d" becomes: "first" part, "abort", or the whole "list"
    lazy_bind: bool = True
    force: bool = False
    bind_irq: bool = False


_OLD = Rules("0", "before 6.0.RC2", reads=False)
_A = Rules("A", "6.0.RC2 to 6.0.RC3", npu_affine=False, lazy_bind=False)
_B = Rules("B", "6.0.0 to 7.0.0", any_mode_is_fine=False, fine_takes_ranges=False, npu_affine=False, lazy_bind=False)
_C = Rules("C", "7.1 to 26.0", topology="abort")
_C71 = Rules("C", "7.1", topology="first", lazy_bind=False)
_C72 = Rules("C", "7.2", topology="first")
_D = Rules("D", "26.1", first_mode_wins=True, unions_ranges=True, force=True)
_MASTER = Rules("D'", "after 26.1", first_mode_wins=True, unions_ranges=True, force=True, bind_irq=True)

# The first release (year or major, minor, and whether it is final) that follows the rules.
_SINCE = (
    ((26, 2, 0), _MASTER),
    ((26, 1, 0), _D),
    ((7, 3, 0), _C),
    ((7, 2, 0), _C72),
    ((7, 1, 0), _C71),
    ((6, 0, 100), _B),
    ((6, 0, 2), _A),
)

CURRENT = ("7.0.0", "7.3.0", "26.1.0")
"""One release of each generation that is judged where the release is not known."""

_WHEELS = {
    "5.0.0": "1.11.0.post11 2.1.0.post4 2.2.0",
    "6.0.RC3": "1.11.0.post14 2.1.0.post6 2.1.0.post8 2.2.0.post2 2.3.1 2.3.1.post2 2.4.0",
    "7.0.0": "2.1.0.post10 2.1.0.post12 2.3.1.post4 2.3.1.post6 2.4.0.post2 2.4.0.post4 2.5.1",
    "7.1.0": "2.1.0.post13 2.5.1.post1 2.6.0",
    "7.2.0": "2.1.0.post17 2.6.0.post3 2.7.1 2.8.0",
    "7.3.0": "2.6.0.post5 2.7.1.post2 2.8.0.post2 2.9.0",
    "26.0.0": "2.7.1.post4 2.8.0.post4 2.9.0.post2",
    "26.1.0": "2.7.1.post8 2.9.0.post6 2.10.0.post4 2.11.0 2.12.0",
}
_RELEASE_OF = {wheel: release for release, wheels in _WHEELS.items() for wheel in wheels.split()}


def rules(release: str) -> Rules:
    """The rules of a release ("6.0.RC3", "7.3.0", "26.1.0", "master") or of a wheel's version ("2.6.0.post3").

    Raises ValueError where neither is recognised.
    """
    text = release.strip().lower()
    if text in ("master", "main"):
        return _MASTER
    text = (release_of_wheel(text) or text).lower().removeprefix("v")
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(rc)?(\d+))?(?:\.\d+)*", text)
    if not match or int(match[1]) < 5:
        raise ValueError(
            f"{release!r} is no release of torch_npu that is known here: give one such as "
            '"6.0.RC3", "7.0.0", "7.3.0", "26.1.0", "master", or the version of a published wheel such as "2.6.0.post3"'
        )
    major, minor, candidate = int(match[1]), int(match[2]), int(match[4] or 0) if match[3] else 100
    for since, found in _SINCE:
        if (major, minor, candidate) >= since:
            return found
    return _OLD


def release_of_wheel(version: str) -> str | None:
    """The release that a published wheel of torch_npu belongs to; None for development builds and unknown ones."""
    return _RELEASE_OF.get(version.partition("+")[0])
