"""Types of results are NumPy's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.types import DTYPES, TYPES


def numpy_type(function: Any, *operands: types.Operand) -> str | None:
    """What NumPy's arrays give; None if a kernel does not have that type."""
    values = [np.ones(1, DTYPES[each]) if isinstance(each, str) else each for each in operands]
    found = function(*values).dtype
    return next((name for name, dtype in DTYPES.items() if dtype == found), None)


def ours(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except Refusal:
        return None


@pytest.mark.parametrize("other", [*TYPES, 3, 2.5])
@pytest.mark.parametrize("kind", TYPES)
def test_results_have_the_type_that_numpy_gives(kind: str, other: types.Operand) -> None:
    wanted = numpy_type(np.add, kind, other)
    assert ours(types.result_type, kind, other) == wanted
    assert ours(types.result_type, other, kind) == wanted


def test_three_operands() -> None:
    for kinds in itertools.product(TYPES, repeat=3):
        wanted = next(
            (name for name in TYPES if DTYPES[name] == np.result_type(*(DTYPES[k] for k in kinds))),
            None,
        )
        assert ours(types.result_type, *kinds) == wanted


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("function", ["sum", "prod", "max", "min"])
def test_reductions(function: str, kind: str) -> None:
    wanted = numpy_type(getattr(np, function), kind)
    assert ours(types.reduced_type, function, kind) == wanted


def test_other_types_are_refused_with_a_way_out() -> None:
    with pytest.raises(Refusal, match=r"result: elements would be int64, and kernels have .*; "):
        types.named(np.int64, "result")


@pytest.mark.parametrize(("number", "kind"), [(300, "i8"), (-1, "ui8"), (2**31, "i32")])
def test_numbers_that_do_not_fit_are_refused(number: int, kind: str) -> None:
    with pytest.raises(OverflowError):
        np.ones(1, DTYPES[kind]) + number
    with pytest.raises(Refusal, match=str(number)):
        types.result_type(kind, number)


@pytest.mark.parametrize(("kind", "value"), [("i8", 5), ("f32", 0.1), ("f64", 0.1)])
def test_constants_are_converted_as_numpy_does(kind: str, value: float) -> None:
    for other in TYPES:
        found = types.cast(types.constant(value, kind), other)
        wanted = np.array(value, DTYPES[kind]).astype(DTYPES[other])
        assert isinstance(found, g.Constant)
        assert DTYPES[other].type(found.value) == wanted
