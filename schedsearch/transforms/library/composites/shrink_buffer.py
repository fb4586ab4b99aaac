"""Give a buffer the rows of one iteration instead of all, where iterations share nothing.

```
t: f32[n, 8]                       t: f32[1, 8]
for i in seq(0, n):                for i in seq(0, n):
    for j in seq(0, 8):                for j in seq(0, 8):
        t[i, j] = f(i, j)     ->           t[0, j] = f(i, j)
    for j in seq(0, 8):                for j in seq(0, 8):
        x[i, j] = t[i, j]                  x[i, j] = t[0, j]
```

One row per iteration, or `c` rows from `c * i` on, as in loops split alike and fused.
They stay in cache; what loops had to write to memory before they were fused
is never seen outside.
"""

from collections.abc import Iterator

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.independence import sweep
from schedsearch.analysis.ranges import bind_loops
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal, Steps

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for alloc, dim, _ in _rows(proc):
        yield alloc, {"dim": dim}


def _rows(proc: q.Proc) -> Iterator[tuple[q.Alloc, int, int]]:
    """Buffers, the dimension in which iterations of one loop of the same block, and nothing
    else, use rows of their own, and how many."""
    for block in q.all_blocks(proc):
        for alloc in block:
            if not isinstance(alloc, q.Alloc):
                continue
            loop, *others = [s for s in block if alloc.buf in q.used_vars((s,))] or [alloc]
            if others or not isinstance(loop, q.For) or loop.parallel:
                continue
            found = [access for access in accesses(loop.body) if access.buf == alloc.buf]
            if all(access.idx for access in found):
                for dim, size in enumerate(alloc.shape):
                    count = _own_rows(loop, found, dim)
                    if count and size != q.Affine(count):
                        yield alloc, dim, count


def _own_rows(loop: q.For, found: list[Access], dim: int) -> int | None:
    """`c`, if every index is `c * i + rest` with `rest` below `c` in the loop of `i`."""
    ranges = bind_loops({}, loop.body)
    rows = sweep(loop.iter, ((access.idx[dim], ranges) for access in found), lambda atom: False)
    own = rows.step >= 1 and rows.low >= 0 and rows.high < rows.step
    return rows.step if own else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    where = (path, args["dim"])
    count = next((n for alloc, dim, n in _rows(ast) if (alloc.path, dim) == where), None)
    if count is None:
        raise RewriteError("iterations share what is in the buffer")
    yield Op("resize_dim", (At(path), args["dim"], count, 0), (("fold", True),))
