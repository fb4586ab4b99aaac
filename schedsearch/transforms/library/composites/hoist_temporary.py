"""Compute a temporary once that loops around it do not change.

```
for i in seq(0, n):                            yy: f32[m]
    for j in seq(0, m):                        for j in seq(0, m):
        yy: f32                                    yy[j] = 0.0
        yy = 0.0                                   for k in seq(0, p):
        for k in seq(0, p):            ->              yy[j] += y[j, k] * y[j, k]
            t += x[i, k] * y[j, k]             for i in seq(0, n):
            yy += y[j, k] * y[j, k]                for j in seq(0, m):
        d[i, j] = t / yy                               for k in seq(0, p):
                                                           t += x[i, k] * y[j, k]
                                                       d[i, j] = t / yy[j]
```

Loop-invariant code motion of what takes several statements: norms of rows, means, weights. All that
writes the temporary goes with it. Loops that its value depends on stay around it, and it gets an
element for every iteration of those that move with it. Proposed where a sum is saved, or a function
and no element is needed; `hoist` moves what one expression computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.ranges import bind_loops, ranges_of_args
from schedsearch.analysis.walkers import shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, Pair, Proposal, Steps
from schedsearch.transforms.operators.outward import (
    lengths,
    loops_around,
    movable,
    move_out,
    unchanging,
)

VERSION = 1
NORMAL_FORM = 1


@dataclass(frozen=True)
class _Unchanged:
    """A temporary, the statements that write it, in their order, the loops that it leaves, the
    innermost first, and what its value depends on."""

    alloc: q.Alloc
    writes: tuple[q.Stmt, ...]
    loops: tuple[q.For, ...]
    used: frozenset[q.Var]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc) and _unchanged(proc, stmt) is not None:
            yield stmt, {}


def _unchanged(proc: q.Proc, alloc: q.Alloc) -> _Unchanged | None:
    around = tuple(loops_around(proc, alloc, before=inf))
    if not around or alloc.mem != "DRAM" or not all(extent.is_const for extent in alloc.shape):
        return None
    writes = tuple(
        stmt for stmt in _using(around[0].body, alloc.buf) if alloc.buf in written_buffers((stmt,))
    )
    blocks = [block for stmt in writes for block in _inner(proc, around[0], stmt)]
    inner = [loop for loop in blocks if isinstance(loop, q.For)]
    if len(inner) < len(blocks) or not (inner or any(map(_calls, writes))):
        return None
    at = [int(stmt.path[len(around[0].path)]) for stmt in writes]
    using = [*_using(around[0].body[at[0] : at[-1] + 1], alloc.buf)]
    if len({*at}) < len(at) or using != [*writes]:
        return None  # one loop writes it by turns, or it is used before it is whole
    bounds = [q.expr_vars(end) for loop in inner for end in (loop.lo, loop.hi)]
    own = {alloc.buf, *(loop.iter for loop in inner)}
    used = q.used_vars(writes).union(*bounds) - own
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    loops = list(movable(unchanging(around, used), used, ranges))
    while loops and loops[-1].iter in used:
        loops.pop()
    if not inner and any(loop.iter in used for loop in loops):
        return None  # an array of what one function gives is no gain
    return _Unchanged(alloc, writes, tuple(loops), used) if loops else None


def _using(body: tuple[q.Stmt, ...], buf: q.Var) -> Iterator[q.Stmt]:
    """Statements that use the buffer, but loops, conditions and its allocation."""
    for stmt in q.walk(body):
        if not isinstance(stmt, q.For | q.If | q.Alloc) and buf in q.used_vars((stmt,)):
            yield stmt


def _inner(proc: q.Proc, loop: q.For, stmt: q.Stmt) -> Iterator[q.Stmt]:
    """Loops and conditions around a statement inside of a loop, the innermost first."""
    path = stmt.path
    while len(path := path[:-1]) > len(loop.path):
        if path[-1] != "e":
            yield proc.by_path[path]


def _calls(stmt: q.Stmt) -> bool:
    return isinstance(stmt, q.Assign | q.Reduce) and any(
        isinstance(part, q.Extern) for part in q.walk_expr(stmt.rhs)
    )


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    found = _unchanged(ast, stmt) if isinstance(stmt, q.Alloc) else None
    if found is None:
        raise RewriteError("no loop around leaves the value of this temporary as it is")
    p = Cursors((yield None))
    alloc = p.at(path)
    level = len(path)
    writes = [p.at(each.path) for each in found.writes]
    for write in writes:
        for depth in range(len(p.path(write)), level, -1):
            yield from _first(p, write, depth, 0)
            around = p.ast.by_path[p.path(write)[: depth - 1]]
            if isinstance(around, q.For) and len(around.body) > 1:
                yield from p.do("fission", After(p.path(write)[:depth]), 1)
    for number, write in enumerate(writes):
        yield from _first(p, write, level, int(p.path(alloc)[-1]) + 1 + number)
    kept = lengths(found.loops, found.used)
    yield from move_out(p.path(alloc), found.loops, kept, len(writes))


def _first(p: Cursors, stmt: Cursor, depth: int, place: int) -> Steps:
    """Move the statement, or what is around it at `depth`, up to a place in its block."""
    while int((path := p.path(stmt)[:depth])[-1]) > place:
        yield from p.do("reorder_stmts", Pair(shifted(path, -1)))
