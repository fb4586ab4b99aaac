"""Bounds of the values a procedure computes, and of the rounding errors in them.

The analysis is insensitive to order. An element of a buffer holds, at any time,
one initial or assigned value plus a subset of what is ever added to it; so

    |element| <= max(|initial|, |assigned|...) + sum over `+=` of hits * |added|

whatever the order of the statements and of the additions. That makes the bound
good for every legal schedule, and for partial sums in any association. Rounding
depth (the number of roundings an element went through) obeys the same equations
with `1 + depth` of operands.

A statement that rewrites each element once, from its old value (`x[i] = 2 * x[i]`),
is applied once. The equations are iterated; if other feedback (recurrences) keeps
them from settling, everything is unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from schedsearch.core import ast as q
from schedsearch.evaluate.effects import Write, writes

INTEGER_MAX = {"i8": 128, "ui8": 255, "ui16": 65535, "i32": 2**31}
"""Largest magnitude of each integer type."""

_SIGNIFICAND_BITS = {"f32": 24, "f16": 11, "f64": 53}
_INT_MAX = 2**31 - 1  # C promotes small integers to int

# |f(x)| <= max of the listed arguments' magnitudes, and exact on integers.
_SELECTING = {"relu": (0,), "select": (2, 3), "min": (0, 1), "max": (0, 1), "abs": (0,)}
_SELECTING |= {"fmaxf": (0, 1), "fminf": (0, 1), "fmax": (0, 1), "fmin": (0, 1), "fabs": (0,)}
_AT_MOST_ONE = ("sin", "cos", "sigmoid", "tanh")


@dataclass(frozen=True)
class Bound:
    """Of a value: `size` bounds its magnitude, `depth` its roundings.

    `unit` is the unit roundoff of the coarsest type it went through. `exact`:
    it and all it was computed from are integers that their types represent.
    """

    size: float = 0.0
    depth: float = 0.0
    unit: float = 0.0
    exact: bool = True

    def join(self, other: Bound) -> Bound:
        """One or the other."""
        return Bound(
            max(self.size, other.size),
            max(self.depth, other.depth),
            max(self.unit, other.unit),
            self.exact and other.exact,
        )

    def plus(self, other: Bound, times: int = 1) -> Bound:
        """Sum with `times` values of the other bound."""
        return replace(
            self.join(other),
            size=self.size + times * other.size,
            depth=self.depth + other.depth + times,
        )

    def typed(self, kind: str) -> Bound:
        """As the result of an operation of this type."""
        bits = _SIGNIFICAND_BITS.get(kind)
        if kind in INTEGER_MAX:
            return replace(self, exact=self.exact and self.size <= _INT_MAX)
        if bits is None:  # R: not decided where it stands; the store decides
            return self
        unit = max(self.unit, 2.0**-bits)
        return replace(self, unit=unit, exact=self.exact and self.size <= 2**bits)

    def stored(self, kind: str) -> Bound:
        """As an element of a buffer of this type; integers wrap into their range."""
        kept = self.typed("f32" if kind == "R" else kind)
        return replace(kept, size=min(kept.size, INTEGER_MAX.get(kind, math.inf)))


UNKNOWN = Bound(math.inf, math.inf, 2.0**-24, False)

Place = q.Var | tuple[str, str]
"""A buffer, or a configuration field `(config, field)`."""


def analyse(
    proc: q.Proc, values: Mapping[q.Atom, int], inputs: Mapping[Place, Bound], config: Bound
) -> dict[Place, Bound]:
    """Bound of every buffer of an inlined `proc`, on inputs of the given bounds.

    `config` bounds what configuration fields that hold data start with.
    """
    analysis = _Analysis(proc, values, inputs, config)
    places: dict[Place, Bound] = dict(inputs)
    # Each pass carries values one statement further, and a chain without
    # feedback has each statement at most once.
    for _ in range(len(analysis.writes) + len(analysis.fields) + 2):
        new = analysis.step(places)
        if new == places:
            return places
        places = new
    kinds = {write.stmt.buf: write.stmt.type for write in analysis.writes}
    return {
        place: UNKNOWN.typed(kinds.get(place, "R") if isinstance(place, q.Var) else "R")
        for place in places
    }


class _Analysis:
    def __init__(
        self,
        proc: q.Proc,
        values: Mapping[q.Atom, int],
        inputs: Mapping[Place, Bound],
        config: Bound,
    ) -> None:
        self.inputs = inputs
        self.config = config
        self.writes = tuple(writes(proc, values))
        self.updates = tuple(write for write in self.writes if _is_update(write))
        self.others = tuple(write for write in self.writes if not _is_update(write))
        self.fields = [s for s in q.walk(proc.body) if isinstance(s, q.WriteConfig)]

    def step(self, places: Mapping[Place, Bound]) -> dict[Place, Bound]:
        """The equations, applied once to `places`."""
        new: dict[Place, Bound] = dict(self.inputs)
        added: dict[Place, list[tuple[Bound, Write]]] = {}
        for write in self.others:
            value, buf = self.value(write.stmt.rhs, places), write.stmt.buf
            if isinstance(write.stmt, q.Reduce):
                added.setdefault(buf, []).append((value, write))
                new.setdefault(buf, Bound())
            else:
                stored = replace(value, depth=value.depth + 1).stored(write.stmt.type)
                new[buf] = new.get(buf, Bound()).join(stored)
        for stmt in self.fields:
            field = (stmt.config, stmt.field)
            new[field] = new.get(field, self.config).join(self.value(stmt.rhs, places))
        for place, sums in added.items():
            for value, write in sums:
                new[place] = new[place].plus(value, write.hits).stored(write.stmt.type)
        return self.update(new, places, added)

    def update(
        self,
        new: dict[Place, Bound],
        places: Mapping[Place, Bound],
        added: Mapping[Place, list[tuple[Bound, Write]]],
    ) -> dict[Place, Bound]:
        """Apply the once-per-element updates of each buffer in any order, each once."""
        for _ in self.updates:
            before = dict(new)
            for write in self.updates:
                stmt = write.stmt
                old = before.get(stmt.buf, Bound())
                value = self.value(stmt.rhs, {**places, stmt.buf: old})
                if isinstance(stmt, q.Reduce):
                    value = old.plus(value)
                for more, other in added.get(stmt.buf, ()):
                    value = value.plus(more, other.hits)
                stored = replace(value, depth=value.depth + 1).stored(stmt.type)
                new[stmt.buf] = new.get(stmt.buf, Bound()).join(stored)
        return new

    def value(self, expr: q.Expr, places: Mapping[Place, Bound]) -> Bound:
        match expr:
            case q.Const():
                size = abs(float(expr.value))
                return Bound(size, exact=size.is_integer())
            case q.Read():
                return places.get(expr.buf, Bound())
            case q.ReadConfig():
                return places.get((expr.config, expr.field), self.config)
            case q.USub():
                return self.value(expr.arg, places)
            case q.BinOp():
                lhs, rhs = self.value(expr.lhs, places), self.value(expr.rhs, places)
                return _arithmetic(expr.op, lhs, rhs).typed(expr.type)
            case q.Extern():
                args = [self.value(arg, places) for arg in expr.args]
                return _extern(expr.name, args).typed(expr.type)
            case q.Affine() | q.Window():
                return UNKNOWN


def _is_update(write: Write) -> bool:
    """Whether each element is written once, from its own old value and not its neighbours'."""
    own = [
        node
        for node in q.walk_expr(write.stmt.rhs)
        if isinstance(node, q.Read) and node.buf == write.stmt.buf
    ]
    return bool(own) and write.hits <= 1 and all(node.idx == write.stmt.idx for node in own)


def _arithmetic(op: str, lhs: Bound, rhs: Bound) -> Bound:
    both = lhs.join(rhs)
    match op:
        case "+" | "-":
            return replace(both, size=lhs.size + rhs.size, depth=both.depth + 1)
        case "*":
            # At least 1: with -ffast-math a factor may be multiplied in first or last.
            size = max(lhs.size, 1.0) * max(rhs.size, 1.0)
            return replace(both, size=size, depth=lhs.depth + rhs.depth + 1)
        case _:
            return Bound(math.inf, lhs.depth + rhs.depth + 1, both.unit, False)


def _extern(name: str, args: list[Bound]) -> Bound:
    joined = args[0]
    for arg in args[1:]:
        joined = joined.join(arg)
    if name in _SELECTING:
        return replace(joined, size=max(args[i].size for i in _SELECTING[name]))
    size = 1.0 if name in _AT_MOST_ONE else math.inf
    return replace(joined, size=size, depth=joined.depth + 2, exact=False)
