"""Types of elements: which NumPy 2 gives results, and which of them a kernel can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.frontends.graph import Cast, Constant, Value
from schedsearch.frontends.lowered import Refusal

TYPES = ("f16", "f32", "f64", "i8", "ui8", "ui16", "i32")

FLOATS = ("f16", "f32", "f64")

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(ELEMENT_TYPES[name].numpy) for name in TYPES}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

Operand = str | int | float
"""A type, or a Python number, which takes the type of what it meets."""


def named(dtype: Any, construct: str = "type") -> str:
    """Our name of a NumPy type; those that kernels do not have are refused."""
    dtype = np.dtype(dtype)
    if dtype not in _NAMES:
        raise Refusal(
            construct,
            f"elements would be {dtype}, and kernels have {', '.join(map(str, _NAMES))}",
            "convert an operand, or give the type of the result (`dtype=`, `astype`)",
        )
    return _NAMES[dtype]


def result_type(*operands: Operand, construct: str = "result") -> str:
    """The type in which NumPy adds or multiplies operands of these types."""
    kinds = [DTYPES[each] if isinstance(each, str) else each for each in operands]
    result = named(np.result_type(*kinds), construct)
    for each in operands:
        if not isinstance(each, str):
            constant(each, result)
    return result


def reduced_type(function: str, kind: str) -> str:
    """The type of `np.sum` and so on over elements of a type."""
    if function in ("max", "min"):
        return kind
    ufunc = {"sum": np.add, "prod": np.multiply}[function]
    return named(ufunc.reduce(np.ones(1, DTYPES[kind])).dtype, f"np.{function}")


def constant(value: float, kind: str) -> Constant:
    """A Python number as an element; one that does not fit is refused, as by NumPy."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind] or (0, 0)
        if value != int(value) or not low <= value <= high:
            raise Refusal(
                f"{value}", f"it is no {DTYPES[kind]}", "convert the array to a type that has it"
            )
        return Constant(int(value), kind)
    return Constant(float(value), kind)


def computed(kind: str) -> str:
    """The type in which functions and sums compute values of a type. As in NumPy that of f16 is
    f32: each result is rounded to f16, the terms of a sum are not."""
    return "f32" if kind == "f16" else kind


def cast(value: Value, kind: str) -> Value:
    """The value as elements of this type; itself where it has the type."""
    if value.type == kind:
        return value
    if isinstance(value, Constant):
        return Constant(DTYPES[kind].type(DTYPES[value.type].type(value.value)).item(), kind)
    return Cast(value, kind)
