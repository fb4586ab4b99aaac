"""Replace a loop by its iterations, written out.

```
for i in seq(0, 3):        s(0)
    s(i)              ->   s(1)
                           s(2)
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops, statement_count
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1

MAX_STATEMENTS = 64
"""Largest unrolled body: beyond it the instruction cache loses what loop overhead gave,
and Exo's later rewrites become slow."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        extent = loop.extent
        if extent and loop.lo.is_const and extent * statement_count(loop.body) <= MAX_STATEMENTS:
            yield loop, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("unroll_loop", (At(path),)),)
