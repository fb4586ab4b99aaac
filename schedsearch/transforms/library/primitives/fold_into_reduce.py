"""Turn an assignment that adds to itself into a reduction.

```
x[i] = x[i] + a   ->   x[i] += a
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        match stmt:
            case q.Assign(rhs=q.BinOp(op="+", lhs=q.Read() as old)):
                if (old.buf, old.idx) == (stmt.buf, stmt.idx):
                    yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("fold_into_reduce", (At(path),)),)
