"""Replace a call by the body of the procedure called.

```
f(x)   ->   body of f, with x for its parameter
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Call) and stmt.proc.instr is None:
            yield stmt, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("inline", (At(path),)),)
