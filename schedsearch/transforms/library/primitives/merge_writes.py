"""Merge two adjacent writes to the same place.

```
x[i] = a
x[i] += b   ->   x[i] = a + b
```

Of a longer run of such writes the first two: the others follow step by step. Not where
`a` and `b` are converted when they are stored: an integer `x` truncates each of them.
"""

from collections.abc import Iterator

from schedsearch.analysis.conversions import mergeable
from schedsearch.analysis.walkers import neighbours
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, Op, Pair, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    last: q.Stmt | None = None
    for first, second in neighbours(proc):
        if _mergeable(first, second):
            if first is not last:
                yield first, {}
            last = second


def _mergeable(first: q.Stmt, second: q.Stmt) -> bool:
    return (
        isinstance(first, q.Assign | q.Reduce)
        and isinstance(second, q.Assign | q.Reduce)
        and (first.buf, first.idx) == (second.buf, second.idx)
        and (isinstance(second, q.Assign) or mergeable(first, second))
    )


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("merge_writes", (Pair(path),)),)
