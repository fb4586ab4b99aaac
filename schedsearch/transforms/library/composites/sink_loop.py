"""Move a loop inside everything it contains (loop distribution and interchange).

```
for j in seq(0, m):                        for j in seq(0, m):
    s[j] = 0.0                                 s[j] = 0.0
    for i in seq(0, n):                    for i in seq(0, n):
        s[j] += q[i] * A[i, j]       ->        for j in seq(0, m):
    for i in seq(0, n):                            s[j] += q[i] * A[i, j]
        A[i, j] += q[i] * s[j]             for i in seq(0, n):
                                               for j in seq(0, m):
                                                   A[i, j] += q[i] * s[j]
```

Proposed where the loop goes along rows and the loops inside go down columns, which neither vectors
nor caches like (Kennedy and McKinley, "Optimizing for parallelism and data locality", ICS 1992).
Also where iterations inside wait for those before them, as those of a filter do: filters side by
side do not. Temporaries get an element for every iteration. Of two perfectly nested loops `reorder`
does the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import accesses, reads
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.jam import sink, sinkable
from schedsearch.transforms.blocks.private import privatise, shared_scalars
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        inside = [s for s in q.walk(loop.body) if isinstance(s, q.For)]
        several = len(inside) > 1 or any(len(each.body) > 1 for each in (loop, *inside))
        worthwhile = several and inside and sinkable(loop)
        if worthwhile and (_across(loop, inside) or _waits(loop, inside)):
            yield loop, {}


def _across(loop: q.For, inside: list[q.For]) -> bool:
    """Whether this loop goes along rows of more matrices than down columns, where a loop inside
    goes down any."""
    for inner in inside:
        found = [access.idx for access in accesses(inner.body) if len(access.idx) > 1]
        if _down(found, inner.iter) and _along(found, loop.iter) > _down(found, loop.iter):
            return True
    return False


def _waits(loop: q.For, inside: list[q.For]) -> bool:
    """Whether iterations of a loop inside wait for each other, and those of this one do not: it
    goes along rows, down no column, and loops inside hand on scalars that it begins."""
    found = [access.idx for access in accesses(loop.body) if access.idx]
    used = [idx for idx in found if any(loop.iter in q.expr_vars(each) for each in idx)]
    rows = all(idx[-1].coefficient(loop.iter) == 1 and not _down([idx], loop.iter) for idx in used)
    own = {stmt.buf for stmt in loop.body if isinstance(stmt, q.Alloc)}
    own |= {buf for _, buf in shared_scalars(loop)}
    return bool(used) and rows and any(own & _handed_on(inner) for inner in inside)


def _handed_on(loop: q.For) -> set[q.Var]:
    """Scalars that iterations of an innermost loop read before they set them."""
    found: set[q.Var] = set()
    known: set[q.Var] = set()
    for stmt in loop.body:
        if isinstance(stmt, q.Assign) and reduction(stmt) is None:
            found |= {read.buf for read in reads(stmt.rhs) if not read.idx} - known
            known |= {stmt.buf}
    return found & known


def _along(indices: list[tuple[q.Affine, ...]], var: q.Var) -> int:
    return sum(var in q.expr_vars(idx[-1]) for idx in indices)


def _down(indices: list[tuple[q.Affine, ...]], var: q.Var) -> int:
    return sum(any(var in q.expr_vars(each) for each in idx[:-1]) for idx in indices)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    if not isinstance(loop, q.For) or not sinkable(loop):
        raise RewriteError("there is no loop that can be moved inside")
    p = Cursors((yield None))
    sunk = p.at(path)
    yield from privatise(p, sunk)
    yield from sink(p, sunk)
