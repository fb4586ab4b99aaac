"""Sums over windows, of which neighbours share parts.

`sum_rs g[r] * h[s] * x[i + r, j + s]` has the part `sum_s h[s] * x[u, j + s]`, which all rows `i`
with `u = i + r` share. Once rows are counted as `u`, the part does not depend on `r`, and can be
summed up first (`contractions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.contractions import LONG, Order, best_order, operations_of
from schedsearch.core import ast as q

GAIN = 0.5
"""Of the operations: rows at the ends have windows of their own, and the parts an array."""

LEAST = 4
"""How many times as many rows there are as a window reaches over: the first and the last ones are
summed up as before."""


@dataclass(frozen=True)
class SharedWindow:
    """With every step of `taps` a sum reads what belongs to the row `step` further on. `order`: of
    the sum, once rows are counted by what they read."""

    rows: q.For
    taps: q.For
    step: int
    order: Order

    @property
    def reach(self) -> int:
        """Rows that share the first row's window, and the last one's."""
        return abs(self.step) * ((self.taps.extent or 1) - 1)


def shared_windows(
    stmt: q.Reduce, factors: Sequence[q.Expr], loops: Sequence[q.For], summed: frozenset[q.Var]
) -> Iterator[SharedWindow]:
    """Windows of the sum of a product in `loops`, the innermost first, where it takes much fewer
    operations to sum up parts first."""
    iters = frozenset(loop.iter for loop in loops)
    for rows in (loop for loop in loops if _moves(stmt.idx, loop.iter)):
        for taps in (loop for loop in loops if loop.iter in summed and (loop.extent or 0) > 1):
            ends = frozenset().union(*map(q.expr_vars, (taps.lo, taps.hi, rows.lo, rows.hi)))
            step = _step(factors, rows.iter, taps.iter)
            if not step or ends & iters or not rows.lo == taps.lo == q.Affine(0):
                continue
            order = _order(factors, loops, summed, (rows, taps, step))
            if order is None:
                continue
            found = SharedWindow(rows, taps, step, order)
            if rows.extent is None or rows.extent > LEAST * found.reach:
                yield found


def _moves(idx: tuple[q.Affine, ...], rows: q.Var) -> bool:
    """Whether a loop moves a result along one dimension, by one."""
    used = [index for index in idx if rows in q.expr_vars(index)]
    return len(used) == 1 and rows not in q.expr_vars(used[0] - q.as_affine(rows))


def _step(factors: Iterable[q.Expr], rows: q.Var, taps: q.Var) -> int:
    """Rows that a step of `taps` reads further on; 0 if there are none, or no whole number."""
    for index in (index for factor in factors for read in reads(factor) for index in read.idx):
        along, across = index.coefficient(rows), index.coefficient(taps)
        if along and across:
            return across // along if across % along == 0 else 0
    return 0


def _order(
    factors: Sequence[q.Expr],
    loops: Sequence[q.For],
    summed: frozenset[q.Var],
    window: tuple[q.For, q.For, int],
) -> Order | None:
    """The order of a sum whose parts rows share; None if that does not save much."""
    rows, taps, step = window
    extents = {loop.iter: loop.extent or LONG for loop in reversed(loops)}
    depends = tuple(_of_part(each, rows.iter, taps.iter, step) & extents.keys() for each in factors)
    others = summed - {taps.iter}
    order = best_order(depends, others, extents) if others else None
    if order is None or taps.iter in order.first.kept or rows.iter not in order.first.kept:
        return None
    at_once = prod(extents.values()) * max(1, len(factors) - 1)
    return order if operations_of(order.steps, extents) <= GAIN * at_once else None


def _of_part(factor: q.Expr, rows: q.Var, taps: q.Var, step: int) -> frozenset[q.Var]:
    """What a factor depends on, once rows are counted by what they read."""
    used = q.expr_vars(factor)
    if rows not in used:
        return used
    indices = [index for read in reads(factor) for index in read.idx]
    belongs = all(
        index.coefficient(rows)
        and index.coefficient(taps) == step * index.coefficient(rows)
        and not {rows, taps} & q.expr_vars(_without(index, rows, taps))
        for index in indices
        if q.expr_vars(index) & {rows, taps}
    )
    return used - {taps} if belongs else used | {taps}


def _without(index: q.Affine, *variables: q.Var) -> q.Affine:
    for var in variables:
        index -= q.as_affine(var).scaled(index.coefficient(var))
    return index
