"""Move an allocation out of a loop, with one element (or slice) per iteration.

```
for i in seq(0, n):        t: f32[n]
    t: f32            ->   for i in seq(0, n):
    s(t)                       s(t[i])
```

What makes fission possible where iterations share a temporary.
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1

_HEAP = ("DRAM", "DRAM_ALIGNED")
"""Memories of buffers whose size need not be constant."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if loop.lo != q.Affine(0) or loop.parallel:
            continue
        for stmt in loop.body:
            if isinstance(stmt, q.Alloc) and _expandable(stmt, loop):
                yield stmt, {}


def _expandable(alloc: q.Alloc, loop: q.For) -> bool:
    """Not what cannot have that shape or, once it is an array, is no scalar argument."""
    if any(loop.iter in q.expr_vars(extent) for extent in alloc.shape):
        return False
    if loop.extent is None and alloc.mem not in _HEAP:
        return False
    return not any(
        isinstance(stmt, q.Call) and q.Read(alloc.buf, (), alloc.type) in stmt.args
        for stmt in q.walk(loop.body)
    )


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("autolift_alloc", (At(path),), (("keep_dims", True),)),)
