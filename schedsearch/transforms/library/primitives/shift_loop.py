"""Make a loop start at 0.

```
for i in seq(3, n):        for i in seq(0, n - 3):
    s(i)              ->       s(i + 3)
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if loop.lo != q.Affine(0):
            yield loop, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("shift_loop", (At(path), 0)),)
