"""Join two loops over consecutive ranges with the same body.

```
for i in seq(0, m):
    s(i)              ->   for i in seq(0, n):
for i in seq(m, n):            s(i)
    s(i)
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import neighbours, next_path, statement_count
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for first, second in neighbours(proc):
        if (
            isinstance(first, q.For)
            and isinstance(second, q.For)
            and first.hi == second.lo
            and statement_count(first.body) == statement_count(second.body)
        ):
            yield first, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("join_loops", (At(path), At(next_path(path)))),)
