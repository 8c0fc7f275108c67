"""The model of core binding: which cores will the threads of a job really get?"""

from __future__ import annotations

from pytest_ascendenv.affinity.binding import Binding, DeviceBinding
from pytest_ascendenv.affinity.grammar import Ignored
from pytest_ascendenv.affinity.simulate import simulate

__all__ = ["Binding", "DeviceBinding", "Ignored", "simulate"]
