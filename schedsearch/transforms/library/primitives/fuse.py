"""Merge two adjacent loops with equal bounds, or `if`s with equal conditions.

```
for i in seq(0, n):        for i in seq(0, n):
    s1(i)             ->       s1(i)
for j in seq(0, n):            s2(i)
    s2(j)
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import neighbours, next_path
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for first, second in neighbours(proc):
        match first, second:
            case q.For(), q.For() if (first.lo, first.hi) == (second.lo, second.hi):
                yield first, {}
            case q.If(), q.If() if first.cond == second.cond:
                yield first, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("fuse", (At(path), At(next_path(path)))),)
