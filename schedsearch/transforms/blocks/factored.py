"""Sums whose factors are summed up first, as far as these do not change with the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.contractions import LONG, MAX_FACTORS, best_order, with_bounds
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.ranges import bind_loops, ranges_of_args, trips
from schedsearch.analysis.walkers import fresh, names, shifted
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.text import show_expr
from schedsearch.transforms.blocks.operands import REUSED
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, Pair, Parts, Steps
from schedsearch.transforms.operators.outward import (
    lay_out,
    lengths,
    loops_around,
    movable,
    move_out,
    unchanging,
)
from schedsearch.transforms.operators.products import Leaf, factors_of, multiply_first


@dataclass(frozen=True)
class Factored:
    """A sum of products. Those `factors`, by number, are summed up first, over the `summed` loops
    of the `nest`, the outermost first; their sum leaves `loops`, the innermost first, and has an
    element for each iteration of those in `kept`."""

    stmt: q.Reduce
    leaves: tuple[Leaf, ...]
    factors: tuple[int, ...]
    nest: tuple[q.For, ...]
    summed: frozenset[q.Var]
    loops: tuple[q.For, ...]
    kept: frozenset[q.Var]

    @property
    def rest(self) -> list[int]:
        """The numbers of the other factors."""
        return [number for number in range(len(self.leaves)) if number not in self.factors]

    @property
    def computed(self) -> list[int]:
        """Those that are no element of an array."""
        leaves = self.leaves
        return [n for n in self.rest if not isinstance(leaves[n][0], q.Read | q.Const)]

    @property
    def order(self) -> list[q.Var]:
        """The loops of the sum's dimensions. Those along the result's rows come last, if no other
        factor depends on them: they are along the rows of a product then."""
        others = frozenset().union(*(q.expr_vars(self.leaves[n][0]) for n in self.rest))
        along = q.expr_vars(self.stmt.idx[-1]) - others if self.stmt.idx else frozenset()
        return sorted((loop.iter for loop in reversed(self.loops)), key=lambda var: var in along)


def factored(proc: q.Proc, stmt: q.Reduce, within: q.Path = ()) -> Factored | None:
    """What of a sum is summed up first; None if that saves no operations. `within` the loop at a
    path, if one is given; the sum has an array for all of its iterations then."""
    used = q.expr_vars(stmt.rhs)
    leaves = tuple(factors_of(stmt.rhs))
    alike = stmt.type in FLOATS and value_type(stmt.rhs, stmt.type) == stmt.type
    if len(leaves) > MAX_FACTORS or not alike or stmt.buf in used or q.may_change(stmt.rhs):
        return None
    around = tuple(unchanging(loops_around(proc, stmt, before=inf), used))
    around = around[: len(stmt.path) - len(within)] if within else around
    nest = tuple(takewhile(lambda loop: len(loop.body) == 1, around))
    summed = frozenset(loop.iter for loop in nest).difference(*map(q.expr_vars, stmt.idx))
    depends = tuple(with_bounds(q.expr_vars(leaf), around) for leaf, _ in leaves)
    extents = {loop.iter: loop.extent or LONG for loop in reversed(around)}
    order = best_order(depends, summed, extents) if summed else None
    if order is None:
        return None
    found = order.first
    if len(found.factors) == len(leaves) and _own(stmt, around):
        return None  # `hoist_temporary` moves all of it
    others = [loop for loop in around if loop.iter not in found.summed]
    ends = [end for loop in others for end in (loop.lo, loop.hi)]
    if any(q.expr_vars(end) & found.summed for end in ends):
        return None
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    loops = list(movable(others, found.kept, ranges))
    if any(loop.iter not in found.kept for loop in others[len(loops) :]):
        return None
    shared = frozenset.intersection(*(depends[number] for number in found.factors))
    if prod(extents[var] for var in found.summed) < REUSED:
        shared = found.kept  # to store a sum, and to load it, takes longer than to compute it
    while loops and loops[-1].iter in shared and not within:
        loops.pop()  # each iteration has sums of its own
    result = Factored(
        *(stmt, leaves, found.factors, nest[::-1], found.summed, tuple(loops), found.kept)
    )
    runs = all(trips(loop, ranges)[0] >= 1 for loop in nest if loop.iter in found.summed)
    return result if runs or not result.computed else None


def _own(stmt: q.Reduce, loops: tuple[q.For, ...]) -> bool:
    """Whether the sum is kept in a temporary of one of the loops."""
    declared = (s.buf for loop in loops for s in loop.body if isinstance(s, q.Alloc))
    return stmt.buf in declared


def factor(found: Factored) -> Steps:
    """Sum the factors up first. If the sum gets an array, that is where the outermost of the loops
    was which it leaves, with a nest for it, and the rest behind."""
    yield from _innermost(found)
    path = found.stmt.path
    place, computed = path[: len(path) - len(found.summed)], found.computed
    for number in computed:
        yield from _bind(found, number, place)
        place = shifted(place, 2)
    yield from _summed_first(found, place)
    for _ in computed:
        yield Op("inline_assign", (At(shifted(place, -1)),))
        yield Op("delete_buffer", (At(shifted(place, -2)),))
        place = shifted(place, -2)
    yield from move_out(place, found.loops, lengths(found.loops, found.kept), statements=2)
    moved = place[: len(place) - len(found.loops)]
    yield from lay_out(moved, found.loops, found.kept, found.order)


def _innermost(found: Factored) -> Steps:
    """Move the loops that are summed over inside of the others."""
    last = [loop.iter in found.summed for loop in found.nest]
    while (True, False) in (pairs := [*pairwise(last)]):
        outer = pairs.index((True, False))
        yield Op("reorder_loops", (At(found.nest[outer].path),))
        last[outer : outer + 2] = [False, True]


def _bind(found: Factored, number: int, place: q.Path) -> Steps:
    """Give a factor that is computed a name before the loop at `place`."""
    path = (*place, *(0,) * len(found.summed))
    factor, route = found.leaves[number]
    now = mirror((yield None))
    name = fresh(names(now), f"{next(reads(factor)).buf.name}_f")
    bound = mirror((yield Op("bind_expr", (Parts(path, (route,)), name)))).by_path[path]
    if isinstance(bound, q.Alloc) and bound.type != found.stmt.type:
        yield Op("set_precision", (At(path), found.stmt.type))
    inner = [loop for loop in reversed(found.nest) if loop.iter in found.summed]
    yield from move_out(path, inner)


def _summed_first(found: Factored, place: q.Path) -> Steps:
    """`for y: Y += a * b[y]  ->  t = 0; for y: t += b[y]; Y += a * t`, for the loop at `place`."""
    stmt = found.stmt
    name = fresh(names(mirror((yield None))), f"{stmt.buf.name}_s")
    element = show_expr(q.Read(stmt.buf, stmt.idx, stmt.type))
    args = (At(place), element, name)
    after = mirror((yield Op("stage_mem", args, (("accum", True),))))
    zero, loop = shifted(place, 1), shifted(place, 2)
    staged = after.by_path[(*loop, *(0,) * len(found.summed))]
    assert isinstance(staged, q.Reduce)
    others = len(found.leaves) - len(found.factors)
    if others:
        yield from multiply_first(staged, found.leaves, found.factors)
    for _ in range(others):
        yield Op("commute_expr", (Parts(staged.path, ((),)),))
        yield Op("lift_reduce_constant", (Pair(zero),))
    for number in reversed(range(others)):
        yield from _merge(shifted(loop, 1 + number))


def _merge(path: q.Path) -> Steps:
    """`t = a * t; Y += t  ->  Y += a * t`"""
    name = fresh(names(mirror((yield None))), "term")
    yield Op("bind_expr", (Parts(path, (("rhs",),)), name))
    yield Op("inline_assign", (At(shifted(path, 2)),))
    yield Op("inline_assign", (At(shifted(path, 1)),))
    yield Op("delete_buffer", (At(path),))
