"""Move an allocation out of the scope around it.

```
for i in seq(0, n):        t: f32[8]
    t: f32[8]         ->   for i in seq(0, n):
    s                          s
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for scope in q.walk(proc.body):
        if not isinstance(scope, q.For | q.If) or getattr(scope, "parallel", False):
            continue
        for stmt in scope.body:
            if isinstance(stmt, q.Alloc) and not any(
                isinstance(scope, q.For) and scope.iter in q.expr_vars(extent)
                for extent in stmt.shape
            ):
                yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("lift_alloc", (At(path),)),)
