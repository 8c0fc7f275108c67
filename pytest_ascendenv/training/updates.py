"""Whose gradient an optimiser applies that is called by itself.

A gradient by weights is a step of a training and is counted where it is taken. One by inputs may be for an adversarial
example, and of one that ``@jit`` code makes inside it is not known: those count when an optimiser is called next. An
optimiser that is called after nothing that was seen, as where the gradient was taken by ``bytecode``, counts as well.
"""

from __future__ import annotations

import threading
from typing import Any


class Updates(threading.local):
    """What one thread has done since its last update."""

    def __init__(self) -> None:
        self._gradient: list[Any] = []
        self._counted = False
        self._ever = False

    def gradient(self, target: Any) -> None:
        """One was taken that may be for something else."""
        self._gradient = [target]

    def step(self) -> None:
        """A step was counted: what updates next belongs to it."""
        self._counted = self._ever = True

    @property
    def pending(self) -> bool:
        """Whether a gradient waits for the update that makes a step of it."""
        return bool(self._gradient) and not self._counted

    def update(self) -> list[Any] | None:
        """An optimiser is called: the gradient that it completes, if one is known; None where a step has counted it."""
        gradient, counted = self._gradient, self._counted
        self._gradient, self._counted = [], False
        return None if counted or (self._ever and not gradient) else gradient
