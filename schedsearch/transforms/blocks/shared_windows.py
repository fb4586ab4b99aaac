"""Sums over windows, of which neighbours share parts: each part is summed up once."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from schedsearch.analysis.conditions import at_most_zero, denied, sizes_of
from schedsearch.analysis.contractions import MAX_FACTORS
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.ranges import bounds, ranges_of_args
from schedsearch.analysis.shared_windows import LEAST, SharedWindow, shared_windows
from schedsearch.analysis.walkers import next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factored import factor, factored
from schedsearch.transforms.blocks.reductions import gaps
from schedsearch.transforms.blocks.windows import straighten
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, At, Steps
from schedsearch.transforms.operators.outward import loops_around, unchanging
from schedsearch.transforms.operators.products import factors_of


@dataclass(frozen=True)
class WindowedSum:
    """A sum in the loops of a `nest`, the outermost first, of which rows share parts."""

    stmt: q.Reduce
    nest: tuple[q.For, ...]
    window: SharedWindow

    @property
    def start(self) -> q.Affine:
        """How many rows further on a step of the taps reads, from the least on."""
        step = self.window.step
        moved = q.as_affine(self.window.taps.iter).scaled(step)
        return moved + (self.window.reach if step < 0 else 0)

    @property
    def shortage(self) -> q.Affine:
        """At most 0 if there are rows enough."""
        rows = self.window.rows
        return rows.lo - rows.hi + (LEAST * self.window.reach + 1)


def windowed_sum(proc: q.Proc, stmt: q.Reduce) -> WindowedSum | None:
    """A sum over a window; None if neighbours share no part of it that takes long. Rows are columns
    only if no others share parts: their ends would be columns, too."""
    used = q.expr_vars(stmt.rhs)
    factors = [factor for factor, _ in factors_of(stmt.rhs)]
    alike = stmt.type in FLOATS and value_type(stmt.rhs, stmt.type) == stmt.type
    if len(factors) > MAX_FACTORS or not alike or stmt.buf in used or q.may_change(stmt.rhs):
        return None
    around = tuple(unchanging(loops_around(proc, stmt, before=inf), used))
    result = frozenset().union(*map(q.expr_vars, stmt.idx))
    sizes = sizes_of(proc)
    along_columns = None
    for count in range(2, len(around) + 1):
        loops = around[:count]
        summed = frozenset(loop.iter for loop in loops) - result
        ends = frozenset().union(*(q.expr_vars(x.lo) | q.expr_vars(x.hi) for x in loops))
        if not ends <= sizes:
            break
        for window in shared_windows(stmt, factors, loops, summed):
            found = WindowedSum(stmt, loops[::-1], window)
            if loops[-1] not in (window.rows, window.taps) or _kept(proc, found):
                continue
            if window.rows.iter not in q.expr_vars(stmt.idx[-1]):
                return found
            along_columns = along_columns or found
    return along_columns


def _kept(proc: q.Proc, found: WindowedSum) -> bool:
    """Whether the sum is for sizes that have too few rows."""
    path = found.nest[0].path
    return any(set(at_most_zero(cond)) == {found.shortage} for cond in denied(proc, path))


def share(proc: q.Proc, found: WindowedSum) -> Steps:
    """Sum up first what rows share.

    Rows are counted from what their windows read on, so that the parts of a sum have one number in
    all windows. They become an array; then rows are counted as before.
    """
    p = Cursors((yield None))
    window, start = found.window, found.start
    rows, taps, end, reach = window.rows.iter, window.taps.iter, window.rows.hi, window.reach
    stmt = p.at(found.stmt.path)
    for gap, lifts in gaps(found.nest, found.stmt.path):
        yield from p.do("fission", After(gap), lifts)
    nest = p.path(stmt)[: -len(found.nest)]
    if bounds(found.shortage, ranges_of_args(proc))[1] > 0:
        condition = f"{show_affine(end)} > {LEAST * reach}"
        yield from p.do("specialize", At(nest), (condition,))
        nest = (*nest, 0)
    result = frozenset().union(*map(q.expr_vars, found.stmt.idx))
    order = [loop.iter for loop in found.nest]
    inner = sorted((var for var in order if var not in (rows, taps)), key=result.__contains__)
    yield from reorder(p, nest, order, [taps, rows, *inner])
    yield from p.do("shift_loop", At((*nest, 0)), show_affine(start))
    yield from _part(p, nest, show_affine(q.Affine(reach)), show_affine(end))
    most, last = next_path(nest), next_path(next_path(nest))
    yield from p.do("shift_loop", At((*nest, 0)), 0)
    yield from p.do("shift_loop", At((*last, 0)), show_affine(end - start))
    yield from p.do("reorder_loops", At(most))
    where = (*most, *(0,) * len(order))
    yield from straighten(p, p.at(where))  # `(i - r) + r` would depend on `r` to Exo
    part = p.ast.by_path[where]
    assert isinstance(part, q.Reduce)
    sum_of_part = factored(p.ast, part, within=most)
    if sum_of_part is None or len(sum_of_part.loops) != len(order) - len(sum_of_part.summed):
        raise RewriteError("rows share no part of their sums")
    yield from factor(sum_of_part)
    p = Cursors((yield None))
    most = shifted(most, 2)
    yield from p.do("reorder_loops", At(most))
    yield from p.do("shift_loop", At((*most, 0)), show_affine(q.Affine(reach) - start))
    yield from _part(p, most, show_affine(q.Affine(reach)), show_affine(end - reach))
    yield from p.do("reorder_loops", At(next_path(most)))


def reorder(p: Cursors, nest: q.Path, order: list[q.Var], wanted: list[q.Var]) -> Steps:
    """Bring the loops of a perfect nest into another order."""
    for place, var in enumerate(wanted):
        while (at := order.index(var)) > place:
            yield from p.do("reorder_loops", At((*nest, *(0,) * (at - 1))))
            order[at - 1 : at + 1] = reversed(order[at - 1 : at + 1])


def _part(p: Cursors, nest: q.Path, first: str, last: str) -> Steps:
    """Cut the second of two loops there, and the nest into three."""
    yield from p.do("cut_loop", At((*nest, 0)), last)
    yield from p.do("cut_loop", At((*nest, 0)), first)
    yield from p.do("fission", After((*nest, 1)))
    yield from p.do("fission", After((*nest, 0)))
