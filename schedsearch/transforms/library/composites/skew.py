"""Start the rows of a nest one after another and advance them together (loop skewing).

```
for i in seq(0, 32):               for i in seq(0, 4):
    for j in seq(0, n):                for ii in seq(0, 8):
        a[i + 1, j + 1] = (                for j in seq(ii, 7): ...
            a[i + 1, j]    ->          for j in seq(7, n):
            + a[i, j + 1]                  a[8 * i + 1, j + 1] = a[8 * i + 1, j] + a[8 * i, j + 1]
        )                                  a[8 * i + 2, j] = a[8 * i + 2, j - 1] + a[8 * i + 1, j]
                                           ...
                                       for ii in seq(0, 8):
                                           for j in seq(n, n + ii): ...
```

For rows whose elements need those before them, such as Gauss-Seidel's: `factor` rows, each `lag`
steps behind the one before it, are as many chains of dependent operations side by side
(Wolfe, IJPP 1986).

The outer loop may also be time, its body nests that are swept one after the other (`B = f(A)`,
then `A = f(B)`). Each is a row, and its step a line or a plane. Then `factor` steps of time are
made of a line while it is in cache, and the steps stay loops. `before` statements of its body
come before the nests (a source on the border). They stay with the steps before all rows are under
way.

Rows are shifted by `lag` times their number and cut where all of them are under way. A step of
one row is not moved before what it needs of others: Exo proves it of each operator, and refuses
lags that are too small. Iterations that `factor` does not divide stay as they are, and so do rows
that are too short to be under way together.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.walkers import fresh, loops, names, next_path, statement_count
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import longest_extent
from schedsearch.transforms.blocks.skewing import (
    Rows,
    cached,
    distances,
    gather,
    may_be_long,
    recurs,
    rows_of,
    steady,
)
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, OpArg, Proposal, Steps

VERSION = 1

ROWS = (4, 8, 12)
"""Rows side by side. Two are hardly faster than gcc's code of one, sixteen not than twelve."""
TIMES = (2, 4, 8)
"""Steps of time of a line or plane."""
MAX_FACTOR = 64
MAX_LAG = 64
MAX_STATEMENTS = 64
"""Statements of one step of all rows, of a size that Exo still handles fast."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        before, rows, lag = _found(proc, target, loop)
        if rows is None or not lag:
            continue
        for factor in ROWS if rows.scalar else TIMES:
            ends = steady(rows, factor, lag)
            long = ends and may_be_long(proc, loop.path, ends[1] - ends[0])
            small = not rows.scalar or factor * statement_count(loop.body) <= MAX_STATEMENTS
            if long and small and factor <= longest_extent(proc, loop):
                first: dict[str, ArgValue] = {"before": before} if before else {}
                yield loop, {"factor": factor, "lag": lag, **first}


def _found(proc: q.Proc, target: Target, loop: q.For) -> tuple[int, Rows | None, int]:
    """The rows after the fewest other statements that leave known distances, and their lag."""
    for before in range(len(loop.body)):
        rows = rows_of(loop, before)
        if rows and distances(rows) is not None:
            apart = not _declared(loop.body[:before]) & q.used_vars(rows.nests)
            return before, rows, _lag(proc, target, loop, rows) if apart else 0
    return 0, None, 0


def _declared(stmts: tuple[q.Stmt, ...]) -> set[q.Var]:
    """What cannot be parted from those that use it."""
    return {stmt.buf for stmt in stmts if isinstance(stmt, q.Alloc)}


def _lag(proc: q.Proc, target: Target, loop: q.For, rows: Rows) -> int:
    """The lag by which rows gain from being skewed; 0 if they do not, or are independent."""
    if statement_count(loop.body) > MAX_STATEMENTS // min(ROWS):
        return 0
    if not (any(map(recurs, rows.nests)) if rows.scalar else _again(proc, target, loop)):
        return 0
    others = [each for each in distances(rows) or () if each.rows]
    apart = (each.apart for each in others if rows.scalar and each.flow)
    return max([*(each.lag for each in others), *apart, 0])


def _again(proc: q.Proc, target: Target, loop: q.For) -> bool:
    """Whether iterations of the outer loop take the same elements from memory."""
    found = [access for access in accesses(loop.body) if access.idx]
    same = any(not any(loop.iter in q.expr_vars(i) for i in each.idx) for each in found)
    return same and not cached(proc, target, loop.body)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, before = ast.by_path.get(path), args.get("before", 0)
    if not (type(before) is int and before >= 0):
        raise RewriteError("a whole number of statements is before the rows")
    rows = rows_of(loop, before)
    if rows is None or not isinstance(loop, q.For):
        raise RewriteError("there is no loop over rows of the same length")
    factor, lag = args["factor"], args["lag"]
    if not (type(factor) is int and 2 <= factor <= MAX_FACTOR):
        raise RewriteError(f"the factor is a number from 2 to {MAX_FACTOR}")
    if not (type(lag) is int and 1 <= lag <= MAX_LAG):
        raise RewriteError(f"the lag is a number from 1 to {MAX_LAG}")
    if loop.extent is not None and loop.extent < factor:
        raise RewriteError(f"the loop has only {loop.extent} iterations")
    ends = steady(rows, factor, lag)
    if ends is None:
        raise RewriteError("the lengths of the rows differ by more than constants")
    p = Cursors((yield None))
    length = ends[1] - ends[0]
    if length.is_const and length.const < 1:
        raise RewriteError("the rows are too short")
    if not length.is_const:
        condition = f"{show_affine(length - length.const)} > {-length.const}"
        yield from p.do("specialize", At(path), (condition,))
        path = (*path, 0)
    inner, count, outer = loop.iter.name, len(rows.nests), p.at(path)
    heads = [p.at((*path, before + number)) for number in range(count)]
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", outer, 0)
        yield from p.do("simplify")
    if loop.extent != factor:
        whole = divides(p.ast, factor, loop.hi - loop.lo, path)
        tail: dict[str, OpArg] = {"perfect": True} if whole else {"tail": "cut"}
        block, inner = inner, fresh(names(p.ast), f"{inner}i")
        yield from p.do("divide_loop", outer, factor, (block, inner), **tail)
    together: list[Cursor] = []
    for number, (nest, head) in enumerate(zip(rows.nests, heads, strict=True)):
        yield from p.do("shift_loop", head, _start(nest.lo + lag * number, lag * count, inner))
        yield from p.do("cut_loop", head, show_affine(ends[0]))
        together.append(p.at(next_path(p.path(head))))
        yield from p.do("cut_loop", together[-1], show_affine(ends[1]))
    yield from gather(p, heads)
    yield from gather(p, together)
    yield from p.do("fission", After(p.path(heads[-1])))
    yield from p.do("fission", After(p.path(together[-1])))
    for follower in together[1:]:
        yield from p.do("fuse", together[0], follower)
    around = p.at(p.path(together[0])[:-1])
    yield from p.do("reorder_loops", around)
    if rows.scalar:
        yield from p.do("unroll_loop", around)
    yield from p.do("simplify")


def _start(first: q.Affine, by: int, inner: str) -> str:
    lag = inner if by == 1 else f"{by} * {inner}"
    return lag if first == q.Affine(0) else f"{show_affine(first)} + {lag}"
