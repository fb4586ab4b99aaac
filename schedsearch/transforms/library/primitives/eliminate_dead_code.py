"""Remove a branch that is never taken, or a loop that never runs.

```
if 0 < n:        s        (n is a size, so at least 1)
    s       ->
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        never_runs = isinstance(stmt, q.For) and stmt.extent == 0
        if isinstance(stmt, q.If) or never_runs:
            yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("eliminate_dead_code", (At(path),)),)
