"""Integers of data that are divided by a constant, in floating point: Exo has no such division.

It is computed in float where the bounds of what is divided are known to be small enough, as those
of bytes are, and otherwise in double.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, inf, trunc

from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph
from schedsearch.frontends.c.numbers import cast

Bounds = tuple[float, float]

UNKNOWN: Bounds = (-inf, inf)

EXACT = 2**23
"""Below this float has every integer, and its halves."""

HALFWAY = 2**18
"""Below this the half that `quotient` adds is 32 times what float, or a product with a rounded
reciprocal, is off by."""


def quotient(value: graph.Value, by: int, bounds: Bounds) -> graph.Value:
    """`value / by` of ints, rounded towards zero as C does. It is computed half way between two
    integers: so far from each that no rounding, nor a reciprocal, reaches it."""
    kind = _float(bounds, HALFWAY)
    half = graph.Constant(0.5, kind)
    exact = cast(value, kind)
    moved: graph.Value = graph.Apply("+", (exact, half), kind, ())
    if bounds[0] < 0:
        below = graph.Apply("-", (exact, half), kind, ())
        zero = graph.Constant(0, "i32")
        moved = graph.Select(graph.Compare(">=", value, zero), moved, below)
    return cast(graph.Apply("/", (moved, graph.Constant(float(by), kind)), kind, ()), "i32")


def floored(value: graph.Value, bits: int, bounds: Bounds) -> graph.Value:
    """`value >> bits` of ints, rounded down."""
    kind = _float(bounds, EXACT)
    scale = graph.Constant(2.0**-bits, kind)
    scaled: graph.Value = graph.Apply("*", (cast(value, kind), scale), kind, ())
    if bounds[0] < 0:
        scaled = graph.Apply("floor", (scaled,), kind, ())
    return cast(scaled, "i32")


def _float(bounds: Bounds, limit: int) -> str:
    return "f32" if -limit < bounds[0] and bounds[1] < limit else "f64"


def bounds_of(value: graph.Value, known: Mapping[graph.Array, Bounds]) -> Bounds:
    """Between which numbers a value is, as far as types tell, and what is `known` of variables."""
    match value:
        case graph.Constant():
            return float(value.value), float(value.value)
        case graph.Load():
            return known.get(value.array) or _of_type(value.type)
        case graph.View():
            return bounds_of(value.source, known)
        case graph.Select():
            return around(bounds_of(value.then, known), bounds_of(value.other, known))
        case graph.Cast():
            return _converted(bounds_of(value.source, known), value.source.type, value.type)
        case graph.Apply():
            found = _applied(value, [bounds_of(each, known) for each in value.args])
            return _wrapped(_rounded(found, value.type), value.type)
        case _:
            return _of_type(value.type)


def _of_type(kind: str) -> Bounds:
    return INTEGERS.get(kind, UNKNOWN)


def around(*bounds: Bounds) -> Bounds:
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _converted(bounds: Bounds, source: str, kind: str) -> Bounds:
    if kind not in INTEGERS or bounds == UNKNOWN:
        return _rounded(bounds, kind) if kind not in INTEGERS else _of_type(kind)
    low, high = bounds
    if source not in INTEGERS:
        low, high = low - 1, high + 1  # what was rounded before
    within = _of_type(kind)
    return (trunc(low), trunc(high)) if within[0] <= low and high <= within[1] else within


def _wrapped(bounds: Bounds, kind: str) -> Bounds:
    """Those of a result that may have overflowed."""
    low, high = _of_type(kind)
    return bounds if low <= bounds[0] and bounds[1] <= high else (low, high)


def _rounded(bounds: Bounds, kind: str) -> Bounds:
    """Those of a result in floating point, which is off by half of its last digit."""
    if kind in INTEGERS or bounds == UNKNOWN:
        return bounds
    off = max(map(abs, bounds)) * (2.0**-23 if kind == "f32" else 2.0**-52)
    return bounds[0] - off, bounds[1] + off


def _applied(value: graph.Apply, args: list[Bounds]) -> Bounds:
    """Before what is too large for the type wraps around."""
    if any(each == UNKNOWN for each in args):
        return UNKNOWN if value.type not in INTEGERS else _of_type(value.type)
    match value.function, args:
        case "+", [a, b]:
            return a[0] + b[0], a[1] + b[1]
        case "-", [a, b]:
            return a[0] - b[1], a[1] - b[0]
        case "*", [a, b]:
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        case "/", [a, (low, high)] if low == high != 0:
            return min(x / low for x in a), max(x / low for x in a)
        case "neg", [a]:
            return -a[1], -a[0]
        case "floor", [a]:
            return floor(a[0]), floor(a[1])
        case (("min" | "minimum"), [a, b]):
            return min(a[0], b[0]), min(a[1], b[1])
        case (("max" | "maximum"), [a, b]):
            return max(a[0], b[0]), max(a[1], b[1])
        case _:
            return _of_type(value.type)
