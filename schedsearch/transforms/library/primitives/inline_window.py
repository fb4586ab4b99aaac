"""Replace a window by the buffer it looks into.

```
w = x[2:10]
w[i] = 0.0    ->   x[i + 2] = 0.0
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.WindowStmt):
            yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("inline_window", (At(path),)),)
