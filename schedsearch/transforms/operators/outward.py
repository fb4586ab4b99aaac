"""Moving what a statement computes out of the loops around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from schedsearch.analysis.accesses import reads, written_buffers
from schedsearch.analysis.ranges import Ranges, bounds, lowest, trips
from schedsearch.analysis.walkers import next_path
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.operators.ops import After, At, Op, Pair, Steps

MAX_BEFORE = 3
"""Statements before it in a loop that a value is moved past, one by one."""


NO_DIMENSIONS: Mapping[q.Var, q.Affine] = {}


def loops_around(proc: q.Proc, stmt: q.Stmt, before: float = MAX_BEFORE) -> Iterator[q.For]:
    """The loops directly around `stmt`, the innermost first, that have at most so many statements
    `before` it."""
    inner: q.Stmt = stmt
    while len(inner.path) > 1 and "e" not in inner.path:
        loop, position = proc.by_path[inner.path[:-1]], inner.path[-1]
        if not isinstance(loop, q.For) or loop.parallel:
            return
        if int(position) > before:
            return
        yield loop
        inner = loop


def changes(loop: q.For, used: frozenset[q.Var]) -> bool:
    """Whether the body of a loop may give any of `used` another value."""
    local = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
    return bool(used & (written_buffers(loop.body) | local))


def unchanging(loops: Iterable[q.For], used: frozenset[q.Var]) -> Iterator[q.For]:
    """The first of `loops`, as long as none gives any of `used` another value."""
    return takewhile(lambda loop: not changes(loop, used), loops)


def lengths(loops: Iterable[q.For], kept: Collection[q.Var]) -> dict[q.Var, q.Affine]:
    """Of the loops of `kept`, the innermost first: for `k < i` and `i < n` that of `k` is `n`."""
    found: dict[q.Var, q.Affine] = {}
    for loop in loops:
        for var, length in found.items():
            factor = length.coefficient(loop.iter)
            end = loop.hi if factor > 0 else loop.lo
            found[var] = length + (end - q.as_affine(loop.iter)).scaled(factor)
        if loop.iter in kept:
            found[loop.iter] = loop.hi
    return found


def never_negative(loops: Sequence[q.For], kept: Collection[q.Var], ranges: Ranges) -> bool:
    """Whether none of their `lengths` is below 0 where outer loops do not run at all: for `j <
    n - 16 - 16 * i` that of `j` is `n - 16`, whatever `n` is. The loop's own end never is."""
    ends = {loop.iter: loop.hi for loop in loops}
    found = lengths(loops, kept).items()
    return all(end == ends[var] or bounds(end, ranges)[0] >= 0 for var, end in found)


def movable(loops: Iterable[q.For], kept: Collection[q.Var], ranges: Ranges) -> tuple[q.For, ...]:
    """Loops, the innermost first, as far out as those of `kept` have a length for the outer ones to
    see, and the others run at least once."""
    found: list[q.For] = []
    loops = tuple(loops)
    around = {loop.iter: loop for loop in loops}
    for loop in loops:
        if loop.iter in kept and bounds(loop.lo, ranges)[0] < 0:
            break
        least = lowest(loop.hi - loop.lo, around)
        if loop.iter not in kept and max(trips(loop, ranges)[0], bounds(least, ranges)[0]) < 1:
            break
        ends = [end for each in found if each.iter in kept for end in (each.lo, each.hi)]
        bound = [end for end in ends if loop.iter in q.expr_vars(end)]
        plain = all(end.coefficient(loop.iter) for end in bound)
        if bound and not (loop.iter in kept and plain):
            break
        if not never_negative((*found, loop), kept, ranges):
            break
        found.append(loop)
    return tuple(found)


def move_out(
    alloc: q.Path,
    loops: Sequence[q.For],
    kept: Mapping[q.Var, q.Affine] = NO_DIMENSIONS,
    statements: int = 1,
) -> Steps:
    """Move the allocation at `alloc` and the next `statements`, which give it its value, out of
    `loops`, the innermost first. For each of the loops with a variable in `kept` they get a
    dimension of the length given there and a loop of their own. The others run at least
    once."""
    for loop in loops:
        outside, before = next_path(alloc[:-1]), int(alloc[-1])
        if loop.iter in kept:
            yield Op("expand_dim", (At(alloc), show_affine(kept[loop.iter]), loop.iter.name))
        yield Op("lift_alloc", (At(alloc),))
        for number in range(statements):
            for position in reversed(range(number, before + number)):
                yield Op("reorder_stmts", (Pair((*outside, position)),))
        yield Op("fission", (After((*outside, statements - 1)),))
        if loop.iter in kept:
            statements = 1
        else:
            if loop.lo != q.Affine(0):
                yield Op("shift_loop", (At(outside), 0))
            yield Op("remove_loop", (At(outside),))
        alloc = alloc[:-1]


def lay_out(
    alloc: q.Path,
    loops: Sequence[q.For],
    kept: Collection[q.Var],
    order: Iterable[q.Var],
) -> Steps:
    """Give the array at `alloc` and the loops after it, which were moved out of `loops`, this
    `order`; not the loops of a triangle."""
    now = [loop.iter for loop in reversed(loops) if loop.iter in kept]
    wanted = [var for var in dict.fromkeys(order) if var in now]
    if wanted == now:
        return
    yield Op("rearrange_dim", (At(alloc), tuple(now.index(var) for var in wanted)))
    bounds_of = [q.expr_vars(end) for loop in loops for end in (loop.lo, loop.hi)]
    if any(loop.iter in variables for loop in loops for variables in bounds_of):
        return
    yield from rearrange(next_path(alloc), now, wanted)


def rearrange(path: q.Path, found: Iterable[object], wanted: Iterable[object]) -> Steps:
    """Reorder perfectly nested loops from `path` on, labelled `found`, to the order `wanted`."""
    labels = list(found)
    for depth, label in enumerate(wanted):
        for position in reversed(range(depth, labels.index(label))):
            yield Op("reorder_loops", (At((*path, *(0,) * position)),))
            labels[position : position + 2] = reversed(labels[position : position + 2])


def order_of(shaped: q.Expr, by_step: bool = False) -> list[q.Var]:
    """The order of loops that indices of an expression have. `by_step`: of `2 * v + r` in an index,
    the one with gaps is the last."""
    indices = [index for read in reads(shaped) for index in read.idx]
    return [var for index in indices for var in _loops_of(index, by_step)]


def _loops_of(index: q.Affine, by_step: bool) -> list[q.Var]:
    steps = {var: index.coefficient(var) if by_step else 0 for var in q.expr_vars(index)}
    return sorted(steps, key=lambda var: (steps[var], var.uid))
