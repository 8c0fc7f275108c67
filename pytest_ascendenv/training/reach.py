"""What a step function works on: the networks, optimisers and gradients it refers to, without calling it.

A hand-written loop has no ``Model`` to ask. Its step is a function over closures and globals, or a method over the
attributes of its object; the names its code uses lead to the cells.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, cast

from pytest_ascendenv.training import bytecode, cells

_DEPTH = 4  # calls of the user's own functions that are followed


class Kind(Enum):
    """``GRADIENT``: one that may be for training or for something else; ``UPDATE``: an optimiser, and no gradient."""

    STEP = auto()
    GRADIENT = auto()
    UPDATE = auto()
    OTHER = auto()


@dataclass
class Reach:
    """Everything found, each object once.

    ``gradient``: one is taken. ``by_weights``: one by weights for certain, as in training; one by inputs alone may be
    for an adversarial example, or a term of the loss.
    """

    networks: list[Any] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    scalers: list[Any] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    jitted: list[Any] = field(default_factory=list)
    gradient: bool = False
    by_weights: bool = False
    _seen: set[int] = field(default_factory=set)

    @property
    def trained(self) -> list[Any]:
        """The networks whose weights an optimiser holds, not a teacher or an average beside them; else all."""
        weights = {id(weight) for optimizer in self.optimizers for weight in getattr(optimizer, "parameters", ())}
        found = [one for one in self.networks if any(id(weight) in weights for weight in one.get_parameters())]
        return found or self.networks

    @property
    def whole_step(self) -> bool:
        """Whether gradient and update both lie in what was looked at."""
        return self.gradient and bool(self.optimizers)

    @property
    def kind(self) -> Kind:
        """What a call of it does, as far as is known before."""
        if self.by_weights or self.whole_step:
            return Kind.STEP
        if self.gradient:
            return Kind.GRADIENT
        return Kind.UPDATE if self.optimizers else Kind.OTHER


def of(*roots: Any) -> Reach:
    reach = Reach()
    for root in roots:
        _look(root, reach, _DEPTH)
    return reach


def _look(found: Any, reach: Reach, depth: int) -> None:
    if id(found) in reach._seen or depth < 0:
        return
    reach._seen.add(id(found))
    for kind, look in _KINDS:
        if kind(found):
            look(found, reach, depth)
            return


def _cell(cell: Any, reach: Reach, depth: int) -> None:
    every = cells.inside(cell)
    inner = [part for part in every if part is cell or id(part) not in reach._seen]
    reach._seen.update(id(part) for part in inner)
    reach.optimizers += [part for part in inner if cells.is_optimizer(part)]
    if cells.is_optimizer(cell):
        return
    reach.parts += inner
    if any(part.parameters_dict(recurse=False) for part in every if not cells.is_optimizer(part)):
        reach.networks.append(cell)
    constructs = [type(part).construct for part in inner]
    reach.jitted += [one for one in constructs if hasattr(one, "__wrapped_by_jit__") and not _is_mindspores(one)]
    for part in inner:
        _attributes(part, reach, depth)
    reach.gradient |= cells.is_step(cell) or any(_makes_gradient(one) for one in set(constructs))
    reach.by_weights |= cells.is_step(cell)


def _attributes(cell: Any, reach: Reach, depth: int) -> None:
    """What a cell holds that is no cell itself; a gradient of MindSpore's own may be that of a function."""
    for value in list(vars(cell).values()):
        if type(value) in _PLAIN:
            continue
        if _is_gradient(value):
            _gradient(value, reach, depth)
        elif _is_scaler(value):
            _look(value, reach, depth)
    if isinstance(cell, sys.modules["mindspore.nn"].ForwardValueAndGrad):
        _look(cell.network, reach, depth)


def _makes_gradient(construct: Any) -> bool:
    """Whether the user's code takes the gradient itself: ``ops.GradOperation()(net)(x)`` in ``construct``."""
    function = inspect.unwrap(construct)
    if not isinstance(function, types.FunctionType) or _is_mindspores(function):
        return False
    used = [function.__globals__.get(name) for name in bytecode.names(function)]
    return any(_is_gradient(one) for one in [*used, *bytecode.of_modules(function)])


def _gradient(found: Any, reach: Reach, depth: int) -> None:
    reach.gradient = True
    reach.by_weights |= is_by_weights(found)
    _through(found, reach, depth)


def _through(found: Any, reach: Reach, depth: int) -> None:
    """MindSpore's own wrappers around a user's function: what ``value_and_grad`` and ``grad`` return."""
    if isinstance(found, types.FunctionType) and found not in _makers():
        for value in bytecode.closure(found).values():
            _look(value, reach, depth)


def _method(method: types.MethodType, reach: Reach, depth: int) -> None:
    owner = method.__self__
    if cells.is_cell(owner):
        _look(owner, reach, depth)
    function = cast(types.FunctionType, method.__func__)
    _look_at_code(function, reach, depth)
    for name in bytecode.names(function):
        value = getattr(owner, "__dict__", {}).get(name, getattr(type(owner), name, None))
        _look(types.MethodType(value, owner) if isinstance(value, types.FunctionType) else value, reach, depth - 1)


def _function(function: types.FunctionType, reach: Reach, depth: int) -> None:
    mark = getattr(function, "_amp_level", "")
    if mark and mark not in reach.marks:
        reach.marks.append(mark)
    if getattr(function, "__wrapped_by_jit__", False):
        reach.jitted.append(function)
    _look_at_code(function, reach, depth)


def _look_at_code(function: types.FunctionType, reach: Reach, depth: int) -> None:
    if (function.__module__ or "").partition(".")[0] in _LIBRARIES:
        return
    for value in bytecode.closure(function).values():
        _look(value, reach, depth - 1)
    for name in bytecode.names(function):
        _look(function.__globals__.get(name), reach, depth - 1)
    for value in bytecode.of_modules(function):
        _look(value, reach, depth - 1)


def _scaler(scaler: Any, reach: Reach, depth: int) -> None:
    reach.scalers.append(scaler)


def _several(found: Any, reach: Reach, depth: int) -> None:
    for value in found[:32]:
        _look(value, reach, depth - 1)


def _is_gradient(found: Any) -> bool:
    """A gradient function of MindSpore, or what makes one: ``GradOperation``, ``value_and_grad``, ``grad``."""
    if isinstance(found, types.FunctionType):
        return found.__name__ == "after_grad" or found in _makers()
    kind = found if isinstance(found, type) else type(found)
    return kind.__name__ in ("GradOperation", "_Grad", "ForwardValueAndGrad")


def is_by_weights(found: Any) -> bool:
    """Whether this is a gradient by weights, as far as it is known before it is called."""
    if isinstance(found, types.FunctionType):  # what ``value_and_grad`` or ``grad`` returned
        found = bytecode.closure(inspect.unwrap(found)).get("grad_")
    return not isinstance(found, type) and bool(getattr(found, "get_by_list", False))


def _is_auxiliary(found: Any) -> bool:
    return isinstance(found, types.FunctionType) and found.__name__ == "aux_fn" and _is_mindspores(found)


def _is_mindspores(function: types.FunctionType) -> bool:
    return (function.__module__ or "").startswith("mindspore.")


def _makers() -> tuple[Any, ...]:
    mindspore = sys.modules["mindspore"]
    return (mindspore.value_and_grad, mindspore.grad)


def _is_scaler(found: Any) -> bool:
    return isinstance(found, sys.modules["mindspore.amp"].LossScaler)


_PLAIN = {bool, int, float, str, dict, list, tuple, set, OrderedDict, type(None)}
"""What most attributes of a cell are, and nothing to look for."""
_LIBRARIES = {"mindspore", "numpy", *sys.stdlib_module_names}
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Reach, int], None]], ...] = (
    (cells.is_cell, _cell),
    (_is_gradient, _gradient),
    (_is_auxiliary, _through),
    (_is_scaler, _scaler),
    (lambda found: isinstance(found, types.MethodType), _method),
    (lambda found: isinstance(found, types.FunctionType), _function),
    (lambda found: isinstance(found, list | tuple), _several),
)
