"""A communication group whose other ranks never come: a captured program is one process of its job.

After ``init()`` it is told that it is rank 0 of the declared size. What the ranks do together is answered as if every
other one held what this one holds: a sum is so many times as large, and what is gathered is so many copies. Every
answer takes the arguments of the function it stands for, by MindSpore's own names.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pytest_ascendenv.training import site
from pytest_ascendenv.training.hooks import Hooks
from pytest_ascendenv.training.record import Observation
from pytest_ascendenv.verdict import Fact

RANK_VARIABLES = ("RANK_SIZE", "MS_WORKER_NUM", "DEVICE_NUM")
"""What msrun, rank tables and older launchers set to the size of the job."""

_HELPERS = "mindspore.communication._comm_helper"  # below management, mint.distributed and ops.communication
_FUNCTIONS = "mindspore.communication.comm_func"
_IN_PLACE = ("mindspore.mint.distributed", "mindspore.ops.communication")  # the second one since 2.9

Answer = Callable[..., Any]


class Group:
    """``asked`` holds the fact ``ranks`` from ``init()`` on, and nothing is answered before."""

    def __init__(self, seen: Observation, hooks: Hooks, asked: dict[str, Fact], ranks: int | None = None) -> None:
        self.seen = seen
        self.hooks = hooks
        self.asked = asked
        self.ranks = ranks
        self._members: dict[str, list[int]] = {}

    def install(self) -> None:
        self._answer("mindspore.communication.management", {"release": _nothing})
        self.hooks.watch(importlib.import_module("mindspore.communication.management"), "init", self._init)
        self._answer(_HELPERS, {name: getattr(self, name) for name in _MEMBERSHIP})
        self._answer(_HELPERS, dict.fromkeys(("_wait_all_comm_init", "_remove_group_info"), _nothing))
        self._answer(_FUNCTIONS, _Returning(self).answers(), told=True)
        for module in filter(importlib.util.find_spec, _IN_PLACE):
            self.hooks.watch(importlib.import_module(module), "init_process_group", self._init)
            self._answer(module, {"get_rank": self._get_rank_helper, "destroy_process_group": _nothing})
            self._answer(module, _InPlace(self).answers(), told=True)

    def _answer(self, module: str, answers: Mapping[str, Answer], told: bool = False) -> None:
        for name, answer in answers.items():
            self.hooks.watch(importlib.import_module(module), name, partial(self._answered, name, answer, told))

    def _answered(self, name: str, answer: Answer, told: bool, original: Any, *args: Any, **kwargs: Any) -> Any:
        if "ranks" not in self.asked:
            return original(*args, **kwargs)
        if told:
            self.seen.note(f"{name}() at {site.caller()} was answered as if every rank held what this one holds")
        return answer(*args, **kwargs)

    # -- who is in it -----------------------------------------------------------------------------------------------

    def _init(self, original: Any, *args: Any, **kwargs: Any) -> None:
        size, here = kwargs.get("world_size", -1), site.caller()
        self.asked["ranks"] = self._size(size if isinstance(size, int) else -1, here)
        number = self.asked["ranks"].value or 1
        self.seen.note(f"init() of the communication group at {here} was answered here as rank 0 of {number}")

    def _size(self, given: int, here: str) -> Fact:
        if self.ranks is not None:
            return Fact("ranks", self.ranks, "settings: ranks")
        name = _rank_variable(os.environ)
        if name:
            return Fact("ranks", int(os.environ[name]), f"environment variable {name}")
        if given > 0:
            return Fact("ranks", given, here)
        return Fact.unknown("ranks", "init() was called, but how many ranks there are is not declared: ranks = …", here)

    def members(self, group: str | None) -> list[int]:
        """The ranks of a group that the program made, or all."""
        return self._members.get(group or "") or list(range(self.asked["ranks"].value or 1))

    def _get_rank_helper(self, group: str | None = None) -> int:
        """-1 outside of the group, as mint.distributed says."""
        return self.members(group).index(0) if 0 in self.members(group) else -1

    def _get_local_rank_helper(self, group: str | None = None) -> int:
        return self._get_rank_helper(group)

    def _get_size_helper(self, group: str | None = None) -> int:
        return len(self.members(group))

    def _get_local_size_helper(self, group: str | None = None) -> int:
        return len(self.members(group))

    def _get_world_rank_from_group_rank_helper(self, group: str, group_rank_id: int) -> int:
        return self.members(group)[group_rank_id]

    def _get_group_rank_from_world_rank_helper(self, world_rank_id: int, group: str) -> int:
        return self.members(group).index(world_rank_id)

    def _get_group_rank_from_world_rank_from_cache_helper(self, world_rank_id: int, group: str) -> int:
        return self.members(group).index(world_rank_id)

    def _get_group_ranks(self, group: str) -> list[int]:
        return list(self.members(group))

    def _create_group_helper(self, group: str, rank_ids: list[int], options: Any = None) -> None:
        self._members[group] = sorted(rank_ids)

    def _destroy_group_helper(self, group: str) -> None:
        self._members.pop(group, None)

    def _get_comm_name_helper(self, group: str) -> str:
        return group

    def _is_initialized(self) -> bool:
        return True


_MEMBERSHIP = (
    "_get_rank_helper",
    "_get_local_rank_helper",
    "_get_size_helper",
    "_get_local_size_helper",
    "_get_world_rank_from_group_rank_helper",
    "_get_group_rank_from_world_rank_helper",
    "_get_group_rank_from_world_rank_from_cache_helper",
    "_get_group_ranks",
    "_create_group_helper",
    "_destroy_group_helper",
    "_get_comm_name_helper",
    "_is_initialized",
)
"""Answered by the methods of ``Group`` of the same names."""


class _Collectives:
    def __init__(self, group: Group) -> None:
        self.group = group

    def answers(self) -> dict[str, Answer]:
        return {name: getattr(self, name) for name in vars(type(self)) if not name.startswith("_")}

    def _reduced(self, tensor: Any, op: str, group: str | None) -> Any:
        """What the ranks have together, each with this tensor: the largest, the smallest and the mean are its own."""
        size = len(self.group.members(group))
        if op == "sum":
            return (tensor * size).astype(tensor.dtype)
        return (tensor**size).astype(tensor.dtype) if op == "prod" else tensor

    def _copies(self, found: Any, group: str | None) -> list[Any]:
        return [found] * len(self.group.members(group))


class _Returning(_Collectives):
    """``comm_func``: the result is returned, with a handle where the function can be asynchronous."""

    def all_reduce(self, tensor: Any, op: str = "sum", group: str = "", async_op: bool = False) -> Any:
        return self._reduced(tensor, op, group), _handle(async_op)

    def all_gather_into_tensor(self, tensor: Any, group: str = "", async_op: bool = False) -> Any:
        return _joined(self._copies(tensor, group)), _handle(async_op)

    def reduce(self, tensor: Any, dst: int, op: str = "sum", group: str = "") -> Any:
        return self._reduced(tensor, op, group) if dst == 0 else tensor

    def broadcast(self, tensor: Any, src: int = 0, group: str = "") -> Any:
        return tensor

    def barrier(self, group: str = "") -> None:
        return None


class _InPlace(_Collectives):
    """``mint.distributed`` and ``ops.communication``: the result is written into a tensor, a handle is returned."""

    def all_reduce(self, tensor: Any, op: str = "sum", group: str | None = None, async_op: bool = False) -> Any:
        tensor.assign_value(self._reduced(tensor, op, group))
        return _handle(async_op)

    def reduce(self, tensor: Any, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False) -> Any:
        if dst == 0:
            tensor.assign_value(self._reduced(tensor, op, group))
        return _handle(async_op)

    def all_gather(self, tensor_list: list[Any], tensor: Any, group: str | None = None, async_op: bool = False) -> Any:
        for each in tensor_list:
            each.assign_value(tensor)
        return _handle(async_op)

    def all_gather_into_tensor(
        self, output_tensor: Any, input_tensor: Any, group: str | None = None, async_op: bool = False
    ) -> Any:
        output_tensor.assign_value(_joined(self._copies(input_tensor, group)))
        return _handle(async_op)

    def all_gather_object(self, object_list: list[Any], obj: Any, group: str | None = None) -> None:
        object_list[:] = self._copies(obj, group)

    def gather_object(
        self, obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: str | None = None
    ) -> None:
        if object_gather_list is not None and dst == 0:
            object_gather_list[:] = self._copies(obj, group)

    def broadcast(self, tensor: Any, src: int, group: str | None = None, async_op: bool = False) -> Any:
        return _handle(async_op)

    def broadcast_object_list(
        self, object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None
    ) -> None:
        return None

    def barrier(self, group: str | None = None, async_op: bool = False, device_ids: Any = None) -> Any:
        return _handle(async_op)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _handle(async_op: bool) -> Any:
    """What an asynchronous call returns, to be waited for."""
    return importlib.import_module(_FUNCTIONS).CommHandle() if async_op else None


def _joined(tensors: list[Any]) -> Any:
    return importlib.import_module("mindspore.ops").concat(tuple(tensors))


def _rank_variable(environ: Mapping[str, str]) -> str:
    return next((name for name in RANK_VARIABLES if environ.get(name, "").isdigit()), "")
