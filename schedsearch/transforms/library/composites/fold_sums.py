"""Make every assignment that adds to its own element, again and again, a reduction.

```
for k in seq(0, p):                           for k in seq(0, p):
    y[i, j] = x[i, k] * w[k, j] + y[i, j]  ->     y[i, j] += x[i, k] * w[k, j]
```

To Exo the iterations of an assignment have an order. Only sums over a loop that does not move the
element, of terms that do not read the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Parts, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if next(_sums(proc), None) is not None:
        yield None, {}


def _sums(proc: q.Proc) -> Iterator[tuple[q.Assign, bool]]:
    """The assignments, and whether their own element comes last."""
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign) or not isinstance(stmt.rhs, q.BinOp):
            continue
        own = q.Read(stmt.buf, stmt.idx, stmt.type)
        last = stmt.rhs.rhs == own
        term = stmt.rhs.lhs if last else stmt.rhs.rhs
        adds = stmt.rhs.op == "+" and own in (stmt.rhs.lhs, stmt.rhs.rhs)
        if adds and stmt.buf not in q.expr_vars(term) and _repeated(proc, stmt):
            yield stmt, last


def _repeated(proc: q.Proc, stmt: q.Assign) -> bool:
    """Whether a loop around a statement does not move its element."""
    indices = frozenset().union(*map(q.expr_vars, stmt.idx))
    return any(loop.iter not in indices for loop in loops_around(proc, stmt, before=inf))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    found = list(_sums(ast))
    if not found or path:
        raise RewriteError("nothing adds to its own element")
    for stmt, last in found:
        if last:
            yield Op("commute_expr", (Parts(stmt.path, ((),)),))
        yield Op("fold_into_reduce", (At(stmt.path),))
