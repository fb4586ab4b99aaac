"""Give a buffer one row instead of one per iteration, where iterations share nothing.

```
t: f32[n, 8]                       t: f32[1, 8]
for i in seq(0, n):                for i in seq(0, n):
    for j in seq(0, 8):                for j in seq(0, 8):
        t[i, j] = f(i, j)     ->           t[0, j] = f(i, j)
    for j in seq(0, 8):                for j in seq(0, 8):
        x[i, j] = t[i, j]                  x[i, j] = t[0, j]
```

The row stays in cache; what loops had to write to memory before they were fused
is never seen outside.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.ops import Args, At, Op, Proposal, Steps
from schedsearch.transforms.walkers import accesses

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for alloc, dim in _rows(proc):
        yield alloc, {"dim": dim}


def _rows(proc: q.Proc) -> Iterator[tuple[q.Alloc, int]]:
    """Buffers with the dimension that is indexed by one loop of the same block only."""
    for block in q.all_blocks(proc):
        for alloc in block:
            if not isinstance(alloc, q.Alloc):
                continue
            loop, *others = [s for s in block if alloc.buf in q.used_vars((s,))] or [alloc]
            if others or not isinstance(loop, q.For) or loop.parallel:
                continue
            found = [access for access in accesses(loop.body) if access.buf == alloc.buf]
            for dim, size in enumerate(alloc.shape):
                if size != q.Affine(1) and all(
                    access.idx and access.idx[dim].as_var == loop.iter for access in found
                ):
                    yield alloc, dim


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    dim = args["dim"]
    if not any(alloc.path == path and number == dim for alloc, number in _rows(ast)):
        raise RewriteError("iterations share what is in the buffer")
    yield Op("resize_dim", (At(path), dim, 1, 0), (("fold", True),))
