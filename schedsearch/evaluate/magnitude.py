"""Bounds of the values a procedure computes, and of the rounding errors in them.

The analysis is insensitive to order. An element of a buffer holds, at any time,
one initial or assigned value plus a subset of what is ever added to it; so

    |element| <= max(|initial|, |assigned|...) + sum over `+=` of hits * |added|

whatever the order of the statements and of the additions. That makes the bound
good for every legal schedule, and for partial sums in any association. Rounding
depth (the number of roundings an element went through) obeys the same equations
with `1 + depth` of operands. The equations are iterated; a buffer that feeds
itself does not settle and is unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.evaluate.effects import Write, writes

# Significand bits, and the largest magnitude of an integer type's values.
SIGNIFICAND = {"R": 24, "f32": 24, "f16": 11, "f64": 53}
INTEGER_MAX = {"i8": 128, "ui8": 255, "ui16": 65535, "i32": 2**31}

# |f(x)| <= max of the listed arguments' magnitudes, and exact on integers.
_SELECTING = {"relu": (0,), "select": (2, 3), "min": (0, 1), "max": (0, 1), "abs": (0,)}
_SELECTING |= {"fmaxf": (0, 1), "fminf": (0, 1), "fmax": (0, 1), "fmin": (0, 1), "fabs": (0,)}
_AT_MOST_ONE = ("sin", "cos", "sigmoid", "tanh")


@dataclass(frozen=True)
class Bound:
    """`size`: bound of the magnitude; `depth`: of the roundings; `exact`: integers throughout."""

    size: float = 0.0
    depth: float = 0.0
    exact: bool = True

    def join(self, other: Bound) -> Bound:
        return Bound(
            max(self.size, other.size), max(self.depth, other.depth), self.exact and other.exact
        )


UNKNOWN = Bound(math.inf, math.inf, False)

Place = q.Var | tuple[str, str]
"""A buffer, or a configuration field `(config, field)`."""


@dataclass(frozen=True)
class Bounds:
    """`places`: of every buffer; `peak`: of every intermediate value."""

    places: Mapping[Place, Bound]
    peak: Bound


def analyse(
    proc: q.Proc, values: Mapping[q.Atom, int], inputs: Mapping[Place, Bound], config: Bound
) -> Bounds:
    """Bounds of an inlined `proc` on inputs of the given bounds.

    `config` bounds what configuration fields that hold data start with.
    """
    analysis = _Analysis(inputs, config, tuple(writes(proc, values)))
    fields = [s for s in q.walk(proc.body) if isinstance(s, q.WriteConfig)]
    places: dict[Place, Bound] = dict(inputs)
    # Each pass carries values one assignment further; a chain has at most one
    # link per statement. What still grows then feeds itself.
    for _ in range(len(analysis.writes) + len(fields) + 1):
        new = analysis.step(places, fields)
        if new == places:
            return Bounds(places, analysis.peak)
        places = new
    return Bounds(dict.fromkeys(places, UNKNOWN), UNKNOWN)


class _Analysis:
    def __init__(
        self, inputs: Mapping[Place, Bound], config: Bound, writes: tuple[Write, ...]
    ) -> None:
        self.inputs = inputs
        self.config = config
        self.writes = writes
        self.peak = Bound()

    def step(self, places: dict[Place, Bound], fields: list[q.WriteConfig]) -> dict[Place, Bound]:
        self.peak = Bound()
        base = dict(self.inputs)
        added: dict[Place, Bound] = {}
        for write in self.writes:
            value = self.expr(write.stmt.rhs, places)
            buf = write.stmt.buf
            if isinstance(write.stmt, q.Reduce):
                old, hits = added.get(buf, Bound()), write.hits
                size = old.size + hits * value.size
                depth = old.depth + hits + value.depth
                added[buf] = Bound(size, depth, old.exact and value.exact)
            else:
                stored = Bound(value.size, value.depth + 1, value.exact)
                base[buf] = base.get(buf, Bound()).join(stored)
        for stmt in fields:
            field = (stmt.config, stmt.field)
            base[field] = base.get(field, self.config).join(self.expr(stmt.rhs, places))
        for place, extra in added.items():
            start = base.get(place, Bound())
            base[place] = self.seen(
                Bound(
                    start.size + extra.size,
                    start.depth + extra.depth,
                    start.exact and extra.exact,
                )
            )
        types = {write.stmt.buf: write.stmt.type for write in self.writes}
        for buf, kind in types.items():
            if kind in INTEGER_MAX:  # stored modulo the type's range
                old = base[buf]
                base[buf] = Bound(min(old.size, INTEGER_MAX[kind]), old.depth, old.exact)
        return base

    def seen(self, bound: Bound) -> Bound:
        self.peak = self.peak.join(bound)
        return bound

    def expr(self, expr: q.Expr, places: Mapping[Place, Bound]) -> Bound:
        match expr:
            case q.Const():
                value = abs(float(expr.value))
                return self.seen(Bound(value, 0.0, value.is_integer()))
            case q.Read():
                return places.get(expr.buf, Bound())
            case q.ReadConfig():
                return places.get((expr.config, expr.field), self.config)
            case q.USub():
                return self.expr(expr.arg, places)
            case q.BinOp():
                lhs, rhs = self.expr(expr.lhs, places), self.expr(expr.rhs, places)
                return self.seen(_arithmetic(expr.op, lhs, rhs))
            case q.Extern():
                args = [self.expr(arg, places) for arg in expr.args]
                return self.seen(_extern(expr.name, args))
            case q.Affine() | q.Window():
                return UNKNOWN


def _arithmetic(op: str, lhs: Bound, rhs: Bound) -> Bound:
    depth = 1 + lhs.depth + rhs.depth
    exact = lhs.exact and rhs.exact
    match op:
        case "+" | "-":
            return Bound(lhs.size + rhs.size, 1 + max(lhs.depth, rhs.depth), exact)
        case "*" if exact:
            # At least 1: with -ffast-math a factor may be multiplied in first or last.
            return Bound(max(lhs.size, 1.0) * max(rhs.size, 1.0), depth, True)
        case "*":
            # Infinity times zero is still unknown, not zero.
            known = math.isfinite(lhs.size) and math.isfinite(rhs.size)
            return Bound(lhs.size * rhs.size if known else math.inf, depth, False)
        case _:
            return Bound(math.inf, depth, False)


def _extern(name: str, args: list[Bound]) -> Bound:
    if name in _SELECTING:
        chosen = [args[i] for i in _SELECTING[name]]
        size = max(arg.size for arg in chosen)
        depth = max(arg.depth for arg in args)
        return Bound(size, depth, all(arg.exact for arg in args))
    depth = 2 + max(arg.depth for arg in args)
    return Bound(1.0 if name in _AT_MOST_ONE else math.inf, depth, False)
