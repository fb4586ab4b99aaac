"""Interchange the loops of a triangle (triangular loop interchange).

```
for i in seq(0, M):                         if M <= 2147483647:
    for j in seq(0, N):                         for k in seq(0, M):
        for k in seq(0, i):                         for j in seq(0, N):
            C[k, j] += A[i, k] * B[i, j]  ->            for i in seq(k + 1, M):
                                                            C[k, j] += A[i, k] * B[i, j]
                                            else:
                                                ...  # as it was
```

For sums whose rows are the triangle's inner loop: each step of the outer loop adds to all rows
above. Interchanged, a row has all its terms one after another, and its tile stays in registers.
The sum gets loops of its own, and all loops but the row's come between.

Or the inner loop begins at the outer one's variable (`for k in seq(i + 1, M)`), and the row's terms
are those before it (`for i in seq(0, k)`).

Exo interchanges rectangles. So the inner loop is divided by a number that is no smaller than its
length, which makes it a rectangle with a guard. For lengths that are not known this is the largest
size that there is. The condition that says so is always true; nothing is proposed for its `else`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.analysis.conditions import LARGEST
from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import gaps
from schedsearch.transforms.blocks.windows import places
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import (
    After,
    Args,
    At,
    Condition,
    Index,
    Op,
    Pair,
    Proposal,
    Steps,
)
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 2

CONTIGUOUS = -1


@dataclass(frozen=True)
class _Update:
    """A sum, the loops from the triangle's outer one to the innermost, and the number of its inner
    one among them, which ends `beyond` the outer one's variable, or if `above` begins there."""

    stmt: q.Reduce
    loops: tuple[q.For, ...]
    inner: int
    beyond: int
    above: bool


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Reduce) and _update(proc, stmt):
            yield stmt, {}


def _update(proc: q.Proc, stmt: q.Reduce) -> _Update | None:
    """None if the sum's rows are not the inner loop of a triangle, or its columns its outer one."""
    loops = (*loops_around(proc, stmt, before=inf),)[::-1]
    rows = frozenset().union(*map(q.expr_vars, stmt.idx[:CONTIGUOUS]))
    columns = q.expr_vars(stmt.idx[CONTIGUOUS]) if stmt.idx else frozenset()
    for number, outer in enumerate(loops):
        inside = loops[number:]
        if outer.iter in rows or outer.lo != q.Affine(0) or outer.extent == 1:
            continue
        for place, inner in enumerate(inside):
            above = inner.lo != q.Affine(0)
            beyond = (inner.lo if above else inner.hi) - q.as_affine(outer.iter)
            ends = [end for each in inside if each is not inner for end in (each.lo, each.hi)]
            rectangular = not {outer.iter, inner.iter} & frozenset().union(*map(q.expr_vars, ends))
            triangular = beyond in (q.Affine(0), q.Affine(1)) and not (
                above and inner.hi != outer.hi
            )
            row = inner.iter in rows - columns and any(loop.iter in columns for loop in loops)
            ends_there = outer.iter not in columns or above
            if triangular and rectangular and row and ends_there:
                return _Update(stmt, inside, place, beyond.const, above)
    return None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    found = _update(ast, stmt) if isinstance(stmt, q.Reduce) else None
    if found is None:
        raise RewriteError("there is no sum whose rows are the inner loop of a triangle")
    outer, inner, end = found.loops[0], found.loops[found.inner], show_affine(found.loops[0].hi)
    p = Cursors((yield None))
    innermost = p.at(path)
    for gap, lifts in gaps(found.loops, path):
        yield from p.do("fission", After(gap), lifts)
    at = p.path(innermost)[: len(outer.path)]
    for depth in reversed(range(1, found.inner)):
        yield Op("reorder_loops", (At((*at, *(0,) * depth)),))
    if outer.extent is None:
        yield Op("specialize", (At(at), (f"{end} <= {LARGEST}",)))
        at = (*at, 0)
    yield from _rectangle(at, found, end, fresh(names(ast), f"{inner.iter.name}o"))
    if found.above:
        yield from _from_the_first(at, found, end)
    yield Op("reorder_loops", (At(at),))
    row = inner.iter.name
    inside = (*at, 0)
    yield Op("cut_loop", (At(inside), row if found.beyond else f"{row} + 1"))
    yield from _without((*(next_path(inside) if found.above else inside), 0))
    yield Op("eliminate_dead_code", (At((*inside, 0)),))
    if outer.iter in q.expr_vars(found.stmt.idx[CONTIGUOUS]):
        return
    for depth in range(1, len(found.loops) - 1):
        yield Op("reorder_loops", (At((*at, *(0,) * depth)),))


def _rectangle(at: q.Path, found: _Update, end: str, block: str) -> Steps:
    """Make the inner loop of the triangle at `at` as long as the outer one, with a guard."""
    outer, row = found.loops[0], found.loops[found.inner].iter.name
    inside, most = (*at, 0), LARGEST if outer.extent is None else outer.extent
    if found.above:
        if found.beyond:  # the last row of the triangle is empty
            yield Op("cut_loop", (At(at), f"{end} - 1"))
            yield from _without((*next_path(at), 0))
        yield Op("shift_loop", (At(inside), 0))
    elif not found.beyond:  # the first row of the triangle is empty
        yield Op("cut_loop", (At(at), 1))
        yield from _without(inside)
    yield Op("divide_loop", (At(inside), most, (block, row)), (("tail", "guard"),))
    yield Op("cut_loop", (At(inside), 1))  # there is but one block
    yield from _without(next_path(inside))
    yield Op("unroll_loop", (At(inside),))
    yield Op("simplify")
    if outer.extent is None:
        yield Op("cut_loop", (At(inside), end))
        yield from _without((*next_path(inside), 0))


def _from_the_first(at: q.Path, found: _Update, end: str) -> Steps:
    """Of a rectangle whose rows begin at the diagonal, have these begin at the first one: what is
    beyond the end comes first instead, and the guard says which of them are of the triangle."""
    outer, inner = found.loops[0].iter, found.loops[found.inner].iter
    inside = (*at, 0)
    first = f"{outer.name} + {found.beyond}"
    yield Op("cut_loop", (At(inside), f"{end} - ({first})"))
    yield Op("reorder_stmts", (Pair(inside),))
    yield Op("shift_loop", (At(inside), 0))
    yield Op("shift_loop", (At(next_path(inside)), first))
    for part in (inside, next_path(inside)):
        stmt = (*part, *(0,) * len(found.loops))
        for route, _, idx in places(found.stmt):
            for dim, index in enumerate(idx):
                if inner in q.expr_vars(index):
                    yield Op("rewrite_expr", (Index(stmt, route, dim), show_affine(index)))
        yield Op("rewrite_expr", (Condition((*part, 0)), f"{first} <= {inner.name}"))
    yield Op("join_loops", (At(inside), At(next_path(inside))))
    yield Op("simplify")


def _without(at: q.Path) -> Steps:
    """Delete the statement at `at`, which never does anything."""
    yield Op("eliminate_dead_code", (At(at),))
    yield Op("delete_pass")
