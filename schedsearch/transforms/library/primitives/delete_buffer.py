"""Remove an allocation that nothing uses.

```
t: f32[8]
s           ->   s
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    used = q.used_vars(proc.body)
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc) and stmt.buf not in used:
            yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("delete_buffer", (At(path),)),)
