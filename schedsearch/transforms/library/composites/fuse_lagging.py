"""Fuse a loop with the next one, which lags some iterations behind (loop shifting and fusion).

```
for i in seq(0, n + 1):          for i in seq(0, 1):
    B[i] = A[i] + 1.0       ->       B[i] = A[i] + 1.0
for i in seq(0, n):              for i in seq(1, n + 1):
    C[i] = B[i] + B[i + 1]           B[i] = A[i] + 1.0
                                     C[i - 1] = B[i - 1] + B[i]
```

For nests whose second reads rows of the first that are not made yet in the same iteration, or
overwrites some that are still needed: stencils, one after another. Rows are in cache then when
they are read. `lag` is the number of iterations; Exo refuses one that is too small.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.walkers import neighbours, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.skewing import (
    Rows,
    cached,
    distances,
    gather,
    may_be_long,
    steady,
)
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Span, Steps

VERSION = 1

MAX_LAG = 64
NEAR = 8
"""Rows that are surely in cache still."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for first, second in neighbours(proc):
        pair = _pair(first, second)
        if pair is None or pair.scalar or cached(proc, target, pair.nests):
            continue
        lag = max((each.lag for each in distances(pair) or () if each.rows), default=0)
        ends = steady(pair, 1, lag)
        long = ends and may_be_long(proc, first.path, ends[1] - ends[0])
        if 1 <= lag <= NEAR and long:
            yield first, {"lag": lag}


def _pair(first: q.Stmt | None, second: q.Stmt | None) -> Rows | None:
    if not isinstance(first, q.For) or not isinstance(second, q.For):
        return None
    return None if first.parallel or second.parallel else Rows(None, (first, second))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    pair, lag = _pair(ast.by_path.get(path), ast.by_path.get(next_path(path))), args["lag"]
    if pair is None:
        raise RewriteError("there are no two loops, one after the other")
    if not (type(lag) is int and 1 <= lag <= MAX_LAG):
        raise RewriteError(f"the lag is a number from 1 to {MAX_LAG}")
    ends = steady(pair, 1, lag)
    if ends is None:
        raise RewriteError("the lengths of the loops differ by more than constants")
    p = Cursors((yield None))
    length = ends[1] - ends[0]
    if length.is_const and length.const < 1:
        raise RewriteError("the loops are too short")
    if not length.is_const:
        condition = f"{show_affine(length - length.const)} > {-length.const}"
        yield from p.do("specialize", Span(path, 2), (condition,))
        path = (*path, 0)
    heads = [p.at(path), p.at(next_path(path))]
    together: list[Cursor] = []
    yield from p.do("shift_loop", heads[1], show_affine(pair.nests[1].lo + lag))
    for head in heads:
        yield from p.do("cut_loop", head, show_affine(ends[0]))
        together.append(p.at(next_path(p.path(head))))
        yield from p.do("cut_loop", together[-1], show_affine(ends[1]))
    yield from gather(p, heads)
    yield from gather(p, together)
    yield from p.do("fuse", *together)
    yield from p.do("simplify")
