"""How statements leave, and what waits where they leave to."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from pytest_ascendenv.launch.state import State


class Flow(enum.Enum):
    """How a statement leaves: to the next one, or out of something."""

    GO = "go"
    EXIT = "exit"
    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"


@dataclass
class Frame:
    """States that left a loop or a function early on an open condition; they join where it ends."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
