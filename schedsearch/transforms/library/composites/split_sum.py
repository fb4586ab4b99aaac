"""Add the products of a sum one after another.

```
for i in seq(0, 16):                                for i in seq(0, 16):
    for j in seq(0, 16):                                for j in seq(0, 16):
        for k in seq(0, 4):                                 for k in seq(0, 4):
            C[i, j] += A[i, k] * B[j, k]       ->               C[i, j] += A[i, k] * B[j, k]
                       + B[i, k] * A[j, k]                      C[i, j] += B[i, k] * A[j, k]
```

Each is a sum of products of its own then, which has register blocks. Proposed where a loop adds up
the elements of an array of two dimensions at least: sums of fewer take as long as their loads.
"""

from collections.abc import Iterator
from math import inf

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if target.fp is FloatingPoint.STRICT:
        return
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Reduce) or not _is_sum(stmt.rhs):
            continue
        around = {loop.iter for loop in loops_around(proc, stmt, before=inf)}
        kept = around & frozenset().union(*map(q.expr_vars, stmt.idx))
        if len(kept) > 1 and len(around) > len(kept):
            yield stmt, {}


def _is_sum(expr: q.Expr) -> bool:
    return isinstance(expr, q.BinOp) and expr.op == "+"


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path[path]
    if not isinstance(stmt, q.Reduce) or not _is_sum(stmt.rhs):
        raise RewriteError("nothing is added up")
    while isinstance(stmt, q.Reduce) and _is_sum(stmt.rhs):  # from the last term on
        stmt = mirror((yield Op("split_write", (At(path),)))).by_path[path]
