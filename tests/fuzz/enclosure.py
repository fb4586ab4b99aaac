"""What results may be, element by element: arithmetic on enclosures of numbers.

Whatever order sums and products are carried out in, and whatever is fused or rounded on the
way, the result is within its enclosure. Where nothing can round, that is one number: an
enclosure knows the sum of the magnitudes of its terms, and a power of two that divides all
of them, so that any partial sum of them has few enough bits.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from transforms.interpret import DTYPES, interpret, is_float, quotient

from schedsearch.core import ast as q

BITS = {"f16": 11, "f32": 24, "f64": 53}
LEAST = {"f16": 2.0**-24, "f32": 2.0**-126, "f64": 2.0**-1022}
MOST = {kind: float(np.finfo(DTYPES[kind]).max) for kind in BITS}
INT = 2**31 - 1

ROUNDINGS = 4
"""Roundings that one operation may take at most, each relative to all of its terms."""


class Undefined(Exception):
    """C does not define the result, or it overflows, or depends on fresh memory."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A number from `lo` to `hi`. `size`: sum of the magnitudes of its terms; `unit`: a power
    of two that divides every term, 0 if something was rounded."""

    lo: float
    hi: float
    size: float
    unit: float

    def __neg__(self) -> Enclosed:
        return Enclosed(-self.hi, -self.lo, self.size, self.unit)


def exactly(value: float) -> Enclosed:
    numerator, denominator = value.as_integer_ratio()
    unit = (numerator & -numerator) / denominator if numerator else math.inf
    return Enclosed(value, value, abs(value), unit)


def _rounded(value: Enclosed, kind: str, times: int = ROUNDINGS) -> Enclosed:
    """A result of arithmetic in a type."""
    most = MOST[kind] if is_float(kind) else INT
    if not value.size <= most:
        raise Undefined("overflow")
    if not is_float(kind):
        return value
    if value.unit >= LEAST[kind] and value.size <= value.unit * 2.0 ** BITS[kind]:
        return value
    error = times * (value.size * 2.0 ** -BITS[kind] + LEAST[kind])
    return Enclosed(value.lo - error, value.hi + error, value.size + error, 0)


def _wrapped(value: Enclosed, kind: str) -> Enclosed:
    """An integer as it is stored."""
    limits = np.iinfo(DTYPES[kind])
    low, high = int(limits.min), int(limits.max)
    lo, hi = value.lo, value.hi
    if not (low <= lo and hi <= high):
        moved = (lo - low) // (high - low + 1) * (high - low + 1)
        lo, hi = (lo - moved, hi - moved) if hi - moved <= high else (low, high)
    if kind == "i32":
        return Enclosed(lo, hi, value.size, 1)
    return Enclosed(lo, hi, max(abs(lo), abs(hi)), 1)


def _hull(one: Enclosed, other: Enclosed) -> Enclosed:
    return Enclosed(
        min(one.lo, other.lo),
        max(one.hi, other.hi),
        max(one.size, other.size),
        min(one.unit, other.unit),
    )


class Enclosures:
    """Arithmetic of `transforms.interpret` on enclosures; raises Undefined."""

    def array(self, shape: tuple[int, ...], kind: str) -> Any:
        limits = (-math.inf, math.inf)
        if not is_float(kind):
            info = np.iinfo(DTYPES[kind])
            limits = (int(info.min), int(info.max))
        fresh = Enclosed(*limits, math.inf, 0)
        return np.full(shape, fresh, object)

    def constant(self, value: float, kind: str) -> Enclosed:
        return exactly(DTYPES[kind](value).item() if is_float(kind) else int(value))

    def binary(self, op: str, left: Enclosed, right: Enclosed, kind: str) -> Enclosed:
        unit = min(left.unit, right.unit)
        match op:
            case "+" | "-":
                right = right if op == "+" else -right
                bounds = left.lo + right.lo, left.hi + right.hi
                return _rounded(Enclosed(*bounds, left.size + right.size, unit), kind)
            case "*":
                corners = [a * b for a, b in _corners(left, right)]
                unit = left.unit * right.unit if unit else 0
                size = left.size * right.size
                return _rounded(Enclosed(min(corners), max(corners), size, unit), kind)
            case "/":
                return self.divided(left, right, kind)
        raise AssertionError(op)

    def divided(self, left: Enclosed, right: Enclosed, kind: str) -> Enclosed:
        if right.lo <= 0 <= right.hi:
            raise Undefined("division by zero")
        if not is_float(kind):
            whole = [quotient(int(a), int(b)) for a, b in _corners(left, right)]
            size = max(map(abs, whole))
            return _rounded(Enclosed(min(whole), max(whole), size, 1), kind)
        values = [a / b for a, b in _corners(left, right)]
        least = min(abs(right.lo), abs(right.hi))
        power = right.lo == right.hi and math.frexp(least)[0] == 0.5
        unit = left.unit / least if power else 0
        return _rounded(Enclosed(min(values), max(values), left.size / least, unit), kind)

    def extern(self, name: str, args: list[Enclosed], kind: str) -> Enclosed:
        match name, args:
            case "relu", [x]:
                return Enclosed(max(x.lo, 0), max(x.hi, 0), x.size, x.unit)
            case "select", [a, b, yes, no]:
                if a.hi < b.lo:
                    return yes
                return no if a.lo >= b.hi else _hull(yes, no)
            case "sqrt", [x]:
                if x.lo < 0:
                    raise Undefined("the root of a negative number")
                lo, hi = math.sqrt(x.lo), math.sqrt(x.hi)
                return _rounded(Enclosed(lo, hi, math.sqrt(x.size), 0), kind)
            case "ashr", [x, by]:
                lo, hi = (math.floor(end / 2**by.lo) for end in (x.lo, x.hi))
                return Enclosed(lo, hi, max(abs(lo), abs(hi)), 1)
            case "sdiv", [x, by]:
                return self.divided(x, by, kind)
            case (("bit_and" | "bit_xor"), [a, b]):
                if a.lo < a.hi or b.lo < b.hi:
                    return Enclosed(-(2**31), 2**31 - 1, 2**31, 1)
                value = {"bit_and": operator.and_, "bit_xor": operator.xor}[name](
                    int(a.lo), int(b.lo)
                )
                return Enclosed(value, value, abs(value), 1)
        raise NotImplementedError(name)

    def converted(self, value: Enclosed, before: str, kind: str) -> Enclosed:
        if not is_float(kind):
            if is_float(before):
                value = _truncated(value, kind)
            return _wrapped(value, kind)
        if before == kind:
            return value
        return _rounded(value, kind)


def _corners(left: Enclosed, right: Enclosed) -> list[tuple[float, float]]:
    return list(product({left.lo, left.hi}, {right.lo, right.hi}))


def _truncated(value: Enclosed, kind: str) -> Enclosed:
    limits = np.iinfo(DTYPES[kind])
    if not math.isfinite(value.size):
        raise Undefined("fresh memory as an integer")
    lo, hi = math.trunc(value.lo), math.trunc(value.hi)
    if lo < limits.min or hi > limits.max:
        raise Undefined("a float outside of the integer's range")
    return Enclosed(lo, hi, max(abs(lo), abs(hi)), 1)


Bounds = tuple[Any, Any] | None
"""The least and greatest value of every element of an argument; None if it is no array."""


def enclosures(meaning: q.Proc, given: Sequence[Any]) -> list[Bounds]:
    """What the arguments may be after a call. Raises Undefined."""
    args = [_enclosed(value) if isinstance(value, np.ndarray) else value for value in given]
    interpret(meaning, args, arithmetic=Enclosures())
    return [_bounds(value) if isinstance(value, np.ndarray) else None for value in args]


def _enclosed(array: Any) -> Any:
    held = np.empty(array.shape, object)
    for place, value in np.ndenumerate(array):
        held[place] = exactly(value.item())
    return held


def _bounds(array: Any) -> tuple[Any, Any]:
    lo, hi = np.empty(array.shape), np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        lo[place], hi[place] = value.lo, value.hi
    return lo, hi


def within(values: Any, bounds: Bounds) -> bool:
    """Whether every element is what it may be; NaN is none but of fresh memory."""
    if bounds is None:
        return True
    lo, hi = bounds
    found = np.asarray(values, np.float64)
    return bool(np.all((lo <= found) & (found <= hi) | np.isinf(hi - lo)))


def loose(bounds: Sequence[Bounds]) -> bool:
    """Whether the comparison tells little: an element may differ by an eighth of it."""
    pairs = [pair for pair in bounds if pair is not None]
    return any(
        bool(np.any(hi - lo > np.maximum(np.maximum(abs(lo), abs(hi)) / 8, 1e-6)))
        for lo, hi in pairs
    )
