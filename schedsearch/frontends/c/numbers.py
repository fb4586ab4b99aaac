"""Constants, and conversions of data that change no value beyond what C changes."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import reduce

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.c.c_types import Unsupported

OPERATORS = ("+", "-", "*", "/")
RING = ("+", "-", "*")

_ROUNDED_ONCE = frozenset((*OPERATORS, "sqrt"))
"""Computed in double and rounded to float they have float's own result: 53 >= 2 * 24 + 2 bits."""


def single(text: str) -> float:
    """The float that a decimal or hexadecimal literal is, rounded once."""
    value = float.fromhex(text) if "x" in text.lower() else float(text)
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if not np.isfinite(near) or not value:
        return float(near)
    with np.errstate(over="ignore"):
        ends = [np.nextafter(near, np.float32(end)) for end in (np.inf, -np.inf)]
    around = (near, *ends)
    exact = _exact(text)
    finite = [each for each in around if np.isfinite(each)]
    return float(min(finite, key=lambda each: abs(Fraction(float(each)) - exact)))


def _exact(text: str) -> Fraction:
    found = re.fullmatch(r"0x([0-9a-f]*)\.?([0-9a-f]*)(?:p([+-]?[0-9]+))?", text.lower())
    if found is None:
        return Fraction(text)
    whole, part, power = found.groups()
    return int(whole + part, 16) * Fraction(2) ** (int(power or 0) - 4 * len(part))


def constant(value: float | int, kind: str) -> graph.Constant:
    """A number converted as C does."""
    bounds = INTEGERS.get(kind)
    if bounds is None:
        return graph.Constant(float(np.float32(value)) if kind == "f32" else float(value), kind)
    low, high = bounds
    if isinstance(value, float) and not (np.isfinite(value) and low - 1 < value < high + 1):
        raise Unsupported(f"{value}", f"C does not define its conversion to {kind}", "change it")
    if kind == "i32" and not low <= value <= high:
        raise Unsupported(f"{value}", "it is no `int`", "use a floating type")
    return graph.Constant((int(value) - low) % (high - low + 1) + low, kind)


def cast(value: graph.Value, kind: str) -> graph.Value:
    """The value converted to a type, in the fewest operations."""
    if value.type == kind:
        return value
    if isinstance(value, graph.Constant):
        return constant(value.value, kind)
    if kind == "f32" and value.type == "f64":
        return _narrowed(value) or graph.Cast(value, kind)
    return graph.Cast(value, kind)


def _narrowed(value: graph.Value) -> graph.Value | None:
    """The same computed in f32, if that is equal bit by bit."""
    if isinstance(value, graph.Apply) and value.function in _ROUNDED_ONCE:
        args = [_as_single(arg) for arg in value.args]
        if None not in args:
            return graph.Apply(value.function, tuple(filter(None, args)), "f32", value.shape)
        return None
    return _as_single(value)


def _as_single(value: graph.Value) -> graph.Value | None:
    """A value of f64 that is a float in truth."""
    match value:
        case graph.Cast() if value.source.type == "f32":
            return value.source
        case graph.Constant() if np.isfinite(value.value):
            narrow = constant(value.value, "f32")
            return narrow if narrow.value == value.value else None
        case graph.Apply() if value.function == "neg":
            inner = _as_single(value.args[0])
            return inner and graph.Apply("neg", (inner,), "f32", value.shape)
        case _:
            return None


def folded(function: str, args: tuple[graph.Value, ...], kind: str) -> graph.Value:
    """An operation on rank 0; of constants, the result."""
    numbers = [arg.value for arg in args if isinstance(arg, graph.Constant)]
    if len(numbers) == len(args) and kind in ("f32", "f64"):
        result = _computed(function, numbers, np.float32 if kind == "f32" else np.float64)
        if result is not None:
            return graph.Constant(result, kind)
    return graph.Apply(function, args, kind, ())


def _computed(
    function: str, numbers: list[float | int], kind: type[np.float32] | type[np.float64]
) -> float | None:
    values = [kind(each) for each in numbers]
    with np.errstate(all="ignore"):
        match function:
            case "+":
                result = values[0] + values[1]
            case "-":
                result = values[0] - values[1]
            case "*":
                result = values[0] * values[1]
            case "/" if values[1]:
                result = values[0] / values[1]
            case "neg":
                result = -values[0]
            case _:
                return None
    return float(result) if np.isfinite(result) else None


# -- integers --------------------------------------------------------------------------------------


def is_of_two(value: Polynomial) -> bool:
    """Whether it is one product of two sizes or variables, beside a small constant."""
    if len(value.parts) != 1:
        return False
    [(monomial, part)] = value.parts
    return len(monomial) + (not part.is_const) <= 2 and abs(part.const) < 2**20


def made(value: Polynomial, kind: str) -> graph.Value:
    """A sum of products of sizes as data."""
    total = [_product(monomial, part, kind) for monomial, part in value.parts]
    return reduce(lambda a, b: graph.Apply("+", (a, b), kind, ()), total)


def _product(monomial: tuple[q.Atom, ...], part: q.Affine, kind: str) -> graph.Value:
    factors: list[graph.Value] = [graph.Count(q.as_affine(size), kind) for size in monomial]
    if part.is_const and part.const != 1:
        factors.insert(0, constant(part.const, kind))
    elif not part.is_const:
        factors.insert(0, graph.Count(part, kind))
    return reduce(lambda a, b: graph.Apply("*", (a, b), kind, ()), factors)


def of_constant(function: str, value: graph.Value, number: int) -> graph.Value:
    """A function of an int and a number."""
    return graph.Apply(function, (value, constant(number, "i32")), "i32", ())


def minus_multiple(value: graph.Value, times: graph.Value, by: int) -> graph.Value:
    """`value - times * by` of ints."""
    many = graph.Apply("*", (times, constant(by, "i32")), "i32", ())
    return graph.Apply("-", (value, many), "i32", ())


def compared(op: str, a: float, b: float) -> bool:
    """A comparison of constants of one type."""
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]


def same(a: object, b: object) -> bool:
    """Whether two values are computed in the same way from the same arrays."""
    if type(a) is not type(b):
        return False
    match a, b:
        case (graph.Constant(), graph.Constant()):
            return (a.type, repr(a.value)) == (b.type, repr(b.value))
        case (graph.Count(), graph.Count()):
            return a.value == b.value and a.type == b.type
        case (graph.Load(), graph.Load()):
            return a.array is b.array
        case (graph.View(), graph.View()):
            return not a.vars and not b.vars and a.index == b.index and same(a.source, b.source)
        case (graph.Apply(), graph.Apply()):
            alike = (a.function, a.type, len(a.args)) == (b.function, b.type, len(b.args))
            return alike and all(map(same, a.args, b.args))
        case (graph.Cast(), graph.Cast()):
            return a.type == b.type and same(a.source, b.source)
        case _:
            return False
