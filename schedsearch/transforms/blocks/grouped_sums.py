"""Sums of groups, each added to an outer sum: quantised products, mixtures, kernels of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.contractions import LONG
from schedsearch.analysis.ranges import bind_loops, ranges_of_args
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.own_loops import OwnLoops, expand, expandable, in_the_way
from schedsearch.transforms.blocks.reductions import gaps, used_again
from schedsearch.transforms.blocks.terms import moves, without_temporaries
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Steps
from schedsearch.transforms.operators.outward import loops_around

DIMENSIONS = 2

FEWEST_USES = 16
"""Of each element in a group: to pack a panel of few rows takes longer than their sums."""

FEWEST_STEPS = 8
"""Of a group: what it adds up is stored, loaded, and added to the outer sum."""


@dataclass(frozen=True)
class GroupedSum:
    """The loop over the groups, and those around it that it is to be outside of, the outermost
    first, with temporaries that these share with it."""

    groups: q.For
    around: OwnLoops


def grouped_sum(proc: q.Proc, stmt: q.Stmt) -> GroupedSum | None:
    """A sum that each iteration of a loop has of its own and then adds to elements that all of them
    share, in loops around in which both operands are used again; None if it is none."""
    if not isinstance(stmt, q.Reduce) or reduction(stmt) is None:
        return None
    direct = without_temporaries(proc, stmt) or stmt
    around = [*loops_around(proc, stmt, before=inf)]
    at = next((n for n, loop in enumerate(around) if n and _adds_up(loop, stmt)), 0)
    if not at or _has_columns(around[at], direct):
        return None
    groups, inside = around[at], around[:at]
    own = {loop.iter for loop in inside if loop.iter in _indices(stmt) or _declares(loop, stmt.buf)}
    steps = prod(loop.extent or LONG for loop in inside if loop.iter not in own)
    loops = [*inside[::-1]]
    if steps < FEWEST_STEPS or _contracts(direct, [groups, *loops], own):
        return None
    outside: list[q.For] = []
    for loop in around[at + 1 :]:
        if loop.iter in q.expr_vars(groups.lo) | q.expr_vars(groups.hi) or _adds_up(loop, stmt):
            return None
        outside.insert(0, loop)
        own.add(loop.iter)
        kept = [each for each in (*outside, *loops) if each.iter in own]
        if _contracts(direct, [*outside, groups, *loops], own) and _used_often(direct, kept):
            temporaries = tuple(in_the_way(groups, tuple(outside)))
            ranges = bind_loops(ranges_of_args(proc), proc.body)
            possible = expandable(temporaries, tuple(outside), ranges)
            found = OwnLoops(stmt, tuple(outside), False, temporaries)
            return GroupedSum(groups, found) if possible else None
    return None


def _adds_up(loop: q.For, stmt: q.Reduce) -> bool:
    """Whether the sum is a temporary of each iteration, and all that is left of these is added to
    elements that the loop does not move."""
    inside = [*q.walk(loop.body)]
    local = {each.buf for each in inside if isinstance(each, q.Alloc)}
    if stmt.buf not in local or any(isinstance(s, q.Call | q.WriteConfig) for s in inside):
        return False
    stores = [s for s in inside if isinstance(s, q.Assign | q.Reduce) and s.buf not in local]
    sums = all(isinstance(s, q.Reduce) and loop.iter not in _indices(s) for s in stores)
    return bool(stores) and sums


def _has_columns(groups: q.For, stmt: q.Assign | q.Reduce) -> bool:
    """Whether an operand has the groups next to each other: they are columns of one product."""
    return any(read.idx and moves(read.idx, groups, len(read.idx) - 1) for read in reads(stmt.rhs))


def _contracts(stmt: q.Assign | q.Reduce, loops: list[q.For], kept: set[q.Var]) -> bool:
    return len(kept) >= DIMENSIONS and used_again(stmt, loops, kept)


def _used_often(stmt: q.Assign | q.Reduce, kept: list[q.For]) -> bool:
    """Whether elements of two operands are used for enough sums of a group."""
    used = [q.expr_vars(read) for read in reads(stmt.rhs)]
    uses = [prod(each.extent or LONG for each in kept if each.iter not in some) for some in used]
    return sum(many >= FEWEST_USES for many in uses) > 1


def _declares(loop: q.For, buf: q.Var) -> bool:
    return any(isinstance(each, q.Alloc) and each.buf == buf for each in q.walk(loop.body))


def _indices(stmt: q.Assign | q.Reduce) -> frozenset[q.Var]:
    return frozenset().union(*map(q.expr_vars, stmt.idx))


def groups_outside(p: Cursors, found: GroupedSum) -> Steps:
    """Move the loop over the groups out of the others, what else they hold split off."""
    groups, loops = p.at(found.groups.path), [p.at(loop.path) for loop in found.around.loops]
    yield from expand(p, found.around)
    nest = [loop for loop in map(p.stmt, loops) if isinstance(loop, q.For)]
    for gap, lifts in gaps(nest, p.path(groups)):
        yield from p.do("fission", After(gap), lifts)
    for _ in nest:
        yield from p.do("reorder_loops", p.at(p.path(groups)[:-1]))
