"""What operations of the query AST mean on NumPy values, type by type.

As in C: arithmetic on integers is wider than what is stored (`int` in C, 64 bits here),
and wraps when stored; conversions from floats and divisions of integers truncate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q

Value = Any
"""A NumPy scalar, or an array with one axis per lane (extent 1 where all are equal)."""

STORED: dict[str, np.dtype[Any]] = {
    "R": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "ui16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
}

_EXTERNS: dict[str, Callable[..., Value]] = {
    "sin": np.sin,
    "expf": np.exp,
    "sqrt": np.sqrt,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x > 0, x, 0),
    "fmaxf": np.fmax,
    "select": lambda a, b, yes, no: np.where(a < b, yes, no),
}

KNOWN_EXTERNS = frozenset(_EXTERNS)

_SINGLE = frozenset({"expf", "fmaxf"})
"""In single precision in C, whatever they are given."""


def is_integer(kind: str) -> bool:
    return STORED[kind].kind in "iu"


def computed(kind: str) -> np.dtype[Any]:
    """The type in which arithmetic on values of type `kind` is done here."""
    return np.dtype(np.int64) if is_integer(kind) else STORED[kind]


def summed(kind: str) -> np.dtype[Any]:
    """The type in which many values of type `kind` are added up."""
    return np.dtype(np.int64 if is_integer(kind) else np.float64)


def poison(kind: str, count: int) -> NDArray[Any]:
    """Fresh memory: NaN, or the largest integer, so that reading it too early shows."""
    dtype = STORED[kind]
    return np.full(count, np.iinfo(dtype).max if is_integer(kind) else np.nan, dtype)


def converted(value: Value, kind: str) -> Value:
    """As an element of type `kind`."""
    dtype = STORED[kind]
    array = np.asarray(value)
    if dtype.kind in "iu" and array.dtype.kind == "f":
        array = array.astype(np.int64)  # truncates; wrapping is the next conversion's
    return array.astype(dtype, copy=False)


def constant(value: bool | int | float, kind: str) -> Value:
    return converted(float(value), kind).astype(computed(kind))


def binary(op: str, lhs: Value, rhs: Value, kind: str) -> Value:
    match op:
        case "+":
            return lhs + rhs
        case "-":
            return lhs - rhs
        case "*":
            return lhs * rhs
        case "/" if is_integer(kind):
            quotient = np.abs(lhs) // np.abs(rhs)
            return np.where((lhs < 0) == (rhs < 0), quotient, -quotient)
        case "/":
            return lhs / rhs
    raise NotImplementedError(f"data arithmetic with `{op}`")


def extern(name: str, args: list[Value], kind: str) -> Value:
    """Exo's function `name`; floats are computed in double precision, as C's `sin` is, unless
    the function is one of C for single precision."""
    if name not in _EXTERNS:
        raise NotImplementedError(f"the external function {name}")
    own = "f32" if name in _SINGLE and kind == "f64" else kind
    wide = [converted(converted(arg, kind), own).astype(summed(kind)) for arg in args]
    return converted(converted(_EXTERNS[name](*wide), own), kind).astype(computed(kind))


def expression_kind(expr: q.Expr, stored: str) -> str:
    """The one type of a data expression: of what it reads, or, if it is all constants,
    of where it is stored. Exo refuses expressions of several types."""
    for node in q.walk_expr(expr):
        if isinstance(node, q.Read | q.ReadConfig) and node.type != "bool":
            return "f32" if node.type == "R" else node.type
    return "f32" if stored == "R" else stored
