"""Recurrences by minima and maxima: `y[l] = max(a[l], y[l - 1] + b)`.

Sums distribute over them, exactly so where they are rounded: `max(a, y + b) + c` is
`max(a + c, (y + b) + c)`, as rounding keeps the order. So the expression may be any of sums and of
minima, or of sums and of maxima, that holds the value before once: alignments and edit distances,
the best sum so far (`max(x[l], y + x[l])`), sums that stay above a limit, running maxima. Some
iterations may begin anew: `same ? a[l] : max(b[l], y)`, longest common subsequences.

What was before may count less each time, `max(x[l], 0.99 * y)`: an envelope. Multiples by a
factor that is not negative distribute, too.

The other extreme may be taken of that, with a limit: `min(max(y + x[l], 0), 1)`, what is in a store
that is empty or full. Two of these in a row are one: `max` distributes over `min`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.reduction import smaller_or_larger
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.linear import ONE, ZERO, grows, number, split

Extreme = Literal["", "min", "max"]


@dataclass(frozen=True)
class Chosen:
    """An expression as the `extreme` of `free` and `before + factor`; no `factor` is 0. Without
    `extreme` it is the sum alone. Where `open` is 0 it is `free`, whatever was before. `beyond`:
    the sum may be beyond all whole numbers where the expression is none. `limit`: the other extreme
    is taken of that and the limit. `scale`: what `before` is multiplied by; none is 1."""

    extreme: Extreme
    factor: q.Expr | None = None
    free: q.Expr | None = None
    open: q.Expr | None = None
    beyond: bool = False
    limit: q.Expr | None = None
    scale: q.Expr | None = None


def by_extreme(value: q.Expr, before: q.Read, kind: str) -> Chosen | None:
    """None if the expression is no minimum or maximum of the value before."""
    found = _chosen(value, before, kind)
    return found if found and found.extreme else None


def _chosen(expr: q.Expr, before: q.Read, kind: str) -> Chosen | None:
    factor, more = split(expr, before) or (None, None)
    if factor is not None:
        if factor == ONE:
            return Chosen("", more)
        if kind in INTEGERS or (number(factor) or 0.0) < 0.0 or grows(factor, None):
            return None
        return Chosen("", more, scale=factor)
    match expr:
        case q.BinOp(op="+" | "-"):
            first = before in reads(expr.lhs)
            part, other = (expr.lhs, expr.rhs) if first else (expr.rhs, expr.lhs)
            found = _chosen(part, before, kind)
            if found is None or before in reads(other) or (expr.op == "-" and not first):
                return None
            if found.limit is not None:
                return None
            return _plus(found, expr, other, kind)
        case q.Extern(args=(one, other, then, else_)) if _decides(expr, before):
            first = before in reads(then)
            found = _chosen(then if first else else_, before, kind)
            if found is None or found.free is None or (first and before in reads(else_)):
                return None
            if found.limit is not None:
                return None
            counts = (ONE, ZERO) if first else (ZERO, ONE)
            open_: q.Expr = replace(expr, args=(one, other, *counts))
            if found.open is not None:
                open_ = q.BinOp("*", open_, found.open, expr.type)
            free = (found.free, else_) if first else (then, found.free)
            return replace(found, free=replace(expr, args=(one, other, *free)), open=open_)
        case q.Extern():
            return _extreme(expr, before, kind)
        case _:
            return None


def _decides(expr: q.Extern, before: q.Read) -> bool:
    """Whether it chooses by a condition on other values."""
    chooses = FUNCTIONS[expr.name].chooses if expr.name in FUNCTIONS else ""
    if not chooses or smaller_or_larger(expr) is not None:
        return False
    return before not in (*reads(expr.args[0]), *reads(expr.args[1]))


def _plus(found: Chosen, expr: q.BinOp, other: q.Expr, kind: str) -> Chosen | None:
    """What is found, and `other` added or subtracted."""
    if found.factor is not None:
        factor: q.Expr = q.BinOp(expr.op, found.factor, other, expr.type)
    else:
        factor = other if expr.op == "+" else q.USub(other, expr.type)
    free, beyond = found.free, found.beyond
    if free is not None and kind in INTEGERS:
        # The sum is done before the extreme, perhaps with what does not count: the least number.
        within = found.factor is None or number(found.factor) is not None
        if not within or not -(1 << 30) <= (number(factor) or 0) <= 1 << 30:
            return None
        free = _within(free, found.extreme, expr.op, other)
        if free is None:
            return None
        beyond = True
    if free is not None:
        free = q.BinOp(expr.op, free, other, expr.type)
    return replace(found, factor=factor, free=free, beyond=beyond)


def _within(free: q.Expr, extreme: Extreme, op: str, other: q.Expr) -> q.Expr | None:
    """A whole number to which another one can be added without overflow: where it overflows, the
    value before is taken instead. None if that other one is not known."""
    more = number(other)
    if more is None:
        return None
    more = int(more if op == "+" else -more)
    least, most = INTEGERS["i32"]
    if extreme == "min" and more > 0:
        return q.Extern("min_", (free, q.Const(most - more, "")), "")
    if extreme == "max" and more < 0:
        return q.Extern("max_", (free, q.Const(least - more, "")), "")
    return free


def _extreme(expr: q.Extern, before: q.Read, kind: str) -> Chosen | None:
    pair = smaller_or_larger(expr)
    if pair is None or FUNCTIONS[expr.name].precision not in ("", kind):
        return None
    extreme, one, other = pair
    if before in reads(one) and before in reads(other):
        return None
    part, free = (one, other) if before in reads(one) else (other, one)
    found = _chosen(part, before, kind)
    if found is None:
        return None
    limit = found.limit
    if limit is not None:
        limit = in_place_of(expr, part, limit)
    if found.extreme not in ("", extreme):
        return None if found.open else replace(found, limit=limit if limit else free)
    if found.free is not None:
        free = in_place_of(expr, part, found.free)
    return replace(found, extreme=extreme, free=free, limit=limit)


def in_place_of(expr: q.Extern, part: q.Expr, other: q.Expr) -> q.Expr:
    """An expression with another one in the place of a part of it."""

    def exchanged(each: q.Expr) -> q.Expr:
        if each == part:
            return other
        return in_place_of(each, part, other) if isinstance(each, q.Extern) else each

    return replace(expr, args=tuple(map(exchanged, expr.args)))
