"""Swap two perfectly nested loops.

```
for i in seq(0, n):            for j in seq(0, m):
    for j in seq(0, m):   ->       for i in seq(0, n):
        s                              s
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import perfect_pairs
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for outer, inner in perfect_pairs(proc):
        if outer.iter not in q.expr_vars(inner.lo) | q.expr_vars(inner.hi):
            yield outer, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("reorder_loops", (At(path),)),)
