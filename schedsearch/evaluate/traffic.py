"""Compulsory memory traffic of a call: which elements of its arguments it loads and stores."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.evaluate.binding import Binding
from schedsearch.evaluate.effects import control_values
from schedsearch.evaluate.harness import Buffer, element_bytes, layout

# Iterations looked at one by one, at a time, and how often those of an access are halved to
# be so few: beyond, all of its array counts as accessed.
_POINTS = 1 << 22
_HALVINGS = 4
_LARGEST = 1 << 28  # elements of an array

Loops = tuple[q.For, ...]
Values = dict[q.Atom, int]


@dataclass(frozen=True)
class Streams:
    """Bytes that are only loaded (`read`), stored without having been needed (`written`),
    and loaded, changed and stored (`updated`); each element of an argument once."""

    read: int
    written: int
    updated: int

    @property
    def footprint(self) -> int:
        """Bytes touched."""
        return self.read + self.written + self.updated

    @property
    def bytes(self) -> int:
        """Loaded and stored; what is updated counts twice."""
        return self.footprint + self.updated


@dataclass(frozen=True)
class _Access:
    """`loops` and `conditions` (with the outcome that leads here) are around it."""

    buf: q.Var
    idx: tuple[q.Affine, ...]
    loops: Loops
    conditions: tuple[tuple[q.Expr, bool], ...]
    store: bool


def count_streams(proc: q.Proc, binding: Binding) -> Streams:
    """Of an inlined procedure.

    An element whose first access in the text is a store counts as not loaded: traffic is
    rather under- than overestimated, since it is a lower bound of what a call moves.
    """
    values = control_values(proc, binding)
    touched = {
        arg.var: _Touched(item)
        for arg, item in zip(proc.args, layout(proc, binding), strict=True)
        if isinstance(item, Buffer)
    }
    for access in _accesses(proc.body, (), ()):
        if access.buf in touched:
            touched[access.buf].add(access, values)
    totals = np.sum([own.totals() for own in touched.values()] or [(0, 0, 0)], axis=0)
    return Streams(*map(int, totals))


class _Touched:
    """What is known of the elements of one array."""

    def __init__(self, buffer: Buffer) -> None:
        self.shape = buffer.shape
        self.width = element_bytes(buffer.type)
        shape = self.shape if prod(self.shape) <= _LARGEST else (1,) * len(self.shape)
        # One element stands for all of an array that is too large.
        self.scale = prod(self.shape) // prod(shape)
        self.loaded = np.zeros(shape, bool)
        self.stored = np.zeros(shape, bool)

    def add(self, access: _Access, values: Values, halvings: int = _HALVINGS) -> None:
        at = _elements(access, values, self.shape) if self.scale == 1 else None
        halves = _halves(access, values) if at is None and self.scale == 1 and halvings else ()
        if halves:
            for half in halves:
                self.add(half, values, halvings - 1)
            return
        # All of it, if nobody knows better; as `...`, also of a scalar.
        where = ... if at is None else at
        if access.store:
            self.stored[where] = True
        else:
            self.loaded[where] |= ~self.stored[where]

    def totals(self) -> tuple[int, int, int]:
        """Bytes read, written and updated."""
        each = self.width * self.scale
        both = int((self.loaded & self.stored).sum())
        return (
            each * (int(self.loaded.sum()) - both),
            each * (int(self.stored.sum()) - both),
            each * both,
        )


def _accesses(
    body: tuple[q.Stmt, ...], loops: Loops, conditions: tuple[tuple[q.Expr, bool], ...]
) -> Iterator[_Access]:
    """In the order of the text; of a statement, loads first."""
    for stmt in body:
        for expr in q.stmt_exprs(stmt):
            for node in q.walk_expr(expr):
                if isinstance(node, q.Read):
                    yield _Access(node.buf, node.idx, loops, conditions, store=False)
        match stmt:
            case q.Assign() | q.Reduce():
                if isinstance(stmt, q.Reduce):
                    yield _Access(stmt.buf, stmt.idx, loops, conditions, store=False)
                yield _Access(stmt.buf, stmt.idx, loops, conditions, store=True)
            case q.For():
                yield from _accesses(stmt.body, (*loops, stmt), conditions)
            case q.If():
                yield from _accesses(stmt.body, loops, (*conditions, (stmt.cond, True)))
                yield from _accesses(stmt.orelse, loops, (*conditions, (stmt.cond, False)))
            case _:
                pass


# -- which elements ------------------------------------------------------------------

Points = dict[q.Atom, NDArray[np.int64]]
"""Values of loop variables, iteration by iteration: arrays of one length."""


def _elements(
    access: _Access, values: Values, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], ...] | None:
    """An index into an array of this shape; None if looking at every iteration is too much work."""
    loops = {loop.iter: loop for loop in access.loops}
    per_dim = [_involved((index,), loops) for index in access.idx]
    guards = [_involved((condition,), loops) for condition, _ in access.conditions]
    indexed = set[q.Var]().union(*per_dim, *guards)
    # Other loops matter only if they may have no iterations.
    others = [loop for loop in access.loops if loop.iter not in indexed]
    guards += [_involved((loop.lo, loop.hi), loops) & indexed for loop in others]
    # Dimensions with loops of their own are independent: all combinations are accessed.
    apart = sum(map(len, per_dim)) == len(indexed) and not any(guards)
    found = []
    for index, involved in zip(access.idx, per_dim, strict=True):
        chosen = involved if apart else indexed
        points = _points([loop for loop in access.loops if loop.iter in chosen], values)
        if points is None:
            return None
        count, own = points
        taken = np.ones(count, bool)
        for condition, outcome in access.conditions:
            truth = _truth(condition, values, own)
            taken &= True if truth is None else truth == outcome
        for loop in others:
            if not (q.expr_vars(loop.lo) | q.expr_vars(loop.hi)) & loops.keys() - indexed:
                taken &= _evaluate(loop.lo, values, own) < _evaluate(loop.hi, values, own)
        found.append((_evaluate(index, values, own) + np.zeros(count, np.int64))[taken])
    if not apart or not found:
        return tuple(found)
    return tuple(np.ix_(*map(_distinct, found, shape)))


def _halves(access: _Access, values: Values) -> tuple[_Access, ...]:
    """In the outermost loop that matters, whose bounds depend on no other; () if there is none."""
    loops = {loop.iter: loop for loop in access.loops}
    conditions = [condition for condition, _ in access.conditions]
    indexed = _involved((*access.idx, *conditions), loops)
    for number, loop in enumerate(access.loops):
        if loop.iter in indexed:
            lo, hi = (q.evaluate_affine(end, values.__getitem__) for end in (loop.lo, loop.hi))
            middle = q.Affine((lo + hi) // 2)
            parts = replace(loop, hi=middle), replace(loop, lo=middle)
            before, after = access.loops[:number], access.loops[number + 1 :]
            return tuple(replace(access, loops=(*before, part, *after)) for part in parts)
    return ()


def _distinct(indices: NDArray[np.int64], extent: int) -> NDArray[np.bool_]:
    """As a mask; `np.unique` takes a hundred times as long."""
    mask = np.zeros(extent, bool)
    mask[indices] = True
    return mask


def _involved(exprs: Iterable[q.Expr], loops: dict[q.Var, q.For]) -> set[q.Var]:
    """Loop variables that `exprs` depend on, and those that their bounds depend on."""
    found = set[q.Var]()
    left = [var for expr in exprs for var in q.expr_vars(expr) & loops.keys()]
    while left:
        var = left.pop()
        if var not in found:
            found.add(var)
            loop = loops[var]
            left += (q.expr_vars(loop.lo) | q.expr_vars(loop.hi)) & loops.keys()
    return found


def _points(loops: list[q.For], values: Values) -> tuple[int, Points] | None:
    """All iterations of nested `loops`, how many and which; None beyond `_POINTS`."""
    count, points = 1, Points()
    for loop in loops:
        lo = _evaluate(loop.lo, values, points) + np.zeros(count, np.int64)
        trips = np.maximum(_evaluate(loop.hi, values, points) - lo, 0)
        outer = count
        count = int(trips.sum())
        if count > _POINTS:
            return None
        within = np.repeat(np.arange(outer), trips)
        first = np.cumsum(trips) - trips
        points = {var: held[within] for var, held in points.items()}
        points[loop.iter] = (lo - first)[within] + np.arange(count)
    return count, points


def _evaluate(value: q.Affine, values: Values, points: Points) -> Any:
    """An integer, or an array of one per point."""
    known: dict[q.Atom, Any] = values | points
    return q.evaluate_affine(value, known.__getitem__)


def _truth(condition: q.Expr, values: Values, points: Points) -> Any:
    """A condition's value at each point; None if it depends on more than loops and sizes."""
    match condition:
        case q.BinOp(op="and" | "or" as op):
            sides = [_truth(side, values, points) for side in (condition.lhs, condition.rhs)]
            if sides[0] is None or sides[1] is None:
                return None
            return sides[0] & sides[1] if op == "and" else sides[0] | sides[1]
        case q.BinOp(op=op, lhs=q.Affine() as lhs, rhs=q.Affine() as rhs):
            left, right = (_evaluate(side, values, points) for side in (lhs, rhs))
            return np.asarray(_COMPARISONS[op](left, right))
        case _:
            return None


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
