"""Write what a sum adds up as one expression instead of by way of scalars.

```
for k in seq(0, p):
    t: f32                                   for k in seq(0, p):
    t = x[i, k] - y[j, k]               ->       s += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
    s += t * t
```

Distances, as most people write them. Scalars of one type alone: converted elements are read into
them, which register blocks do themselves. Proposed where each of two operands is used for several
elements of the result, so that blocks follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.terms import in_one_type, with_values, without_temporaries
from schedsearch.transforms.library.composites import inline_value
from schedsearch.transforms.library.composites.isolate_sum import loops_wanted
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Reduce) and _by_way_of_scalars(proc, stmt):
            yield stmt, {}


def _by_way_of_scalars(proc: q.Proc, stmt: q.Reduce) -> bool:
    loop = proc.by_path.get(stmt.path[:-1])
    if not isinstance(loop, q.For) or loop.body[-1] != stmt or not len(loop.body) % 2:
        return False
    assigned = _assigned(proc, stmt)
    if (
        not assigned
        or len(loop.body) != 2 * len(assigned) + 1
        or without_temporaries(proc, stmt) is not None
    ):
        return False
    values: dict[q.Var, q.Expr] = {}
    for each in assigned:
        values[each.buf] = with_values(each.rhs, values)
    direct = replace(stmt, rhs=with_values(stmt.rhs, values))
    sums = reduction(direct) is not None and in_one_type(direct)
    return sums and bool(loops_wanted(proc, direct))


def _assigned(proc: q.Proc, stmt: q.Stmt) -> list[q.Assign]:
    """The values of scalars of the same block that can be written where they are used, in order."""
    found = (value.assign for value in inline_value.values(proc) if not value.alloc.shape)
    return [each for each in found if each.path[:-1] == stmt.path[:-1]]


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    if not isinstance(stmt, q.Reduce) or not _by_way_of_scalars(ast, stmt):
        raise RewriteError("there is no such sum by way of scalars")
    p = Cursors((yield None))
    target = p.at(path)
    while assigned := _assigned(p.ast, p.stmt(target)):
        yield from inline_value.steps(p.ast, assigned[0].path, {})
        p.procedure = yield None
