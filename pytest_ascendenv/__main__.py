"""``python -m pytest_ascendenv COMMAND …``: what the gate knows, without a test run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "facts": ("pytest_ascendenv.facts", "what the gate reads of a launch script, a configuration or a program"),
    "diff": ("pytest_ascendenv.launch.diff_command", "the facts in which two launch scripts differ"),
    "capture": ("pytest_ascendenv.probes.capture", "this host's facts as JSON, to be judged elsewhere"),
    "affinity": (
        "pytest_ascendenv.affinity.command",
        "what a value of CPU_AFFINITY_CONF does: the cores of each thread",
    ),
}
"""Command -> (module with ``main(argv) -> exit code``, what it does)."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        command: int = importlib.import_module(COMMANDS[words[0]][0]).main(words[1:])
        return command
    print("usage: python -m pytest_ascendenv COMMAND …\n")
    for name, (_, text) in COMMANDS.items():
        print(f"  {name:10} {text}")
    return 0 if words in (["-h"], ["--help"]) else 4


if __name__ == "__main__":
    sys.exit(main())
