"""What a function takes from modules, wherever the module's name is bound."""

from __future__ import annotations

import os
import os.path as paths
from collections.abc import Callable
from typing import Any

import pytest

from pytest_ascendenv.training import bytecode


def of_a_global() -> Any:
    return os.path.join("a", "b")


def of_a_global_by_another_name() -> Any:
    return [paths.join(one, "b") for one in "ab"]


def imported_inside() -> Any:
    import os.path as inner

    return inner.join("a", "b")


def its_package_imported_inside() -> Any:
    import os.path

    return os.path.join("a", "b")


def taken_inside() -> Any:
    from os.path import isabs, join

    return join("a", "b"), isabs


def of_a_closure() -> Callable[[], Any]:
    from os import path

    return lambda: path.join("a", "b")


def of_an_object(found: Any) -> Any:
    return found.path.join("a", "b"), "".join("ab")


@pytest.mark.parametrize(
    "function",
    [
        of_a_global,
        of_a_global_by_another_name,
        imported_inside,
        its_package_imported_inside,
        taken_inside,
        of_a_closure,
        of_a_closure(),
    ],
)
def test_an_attribute_of_a_module_is_found(function: Any) -> None:
    assert os.path.join in list(bytecode.of_modules(function))


def test_an_attribute_of_anything_else_is_not() -> None:
    assert list(bytecode.of_modules(of_an_object)) == []  # type: ignore[arg-type]
