"""Compute a value where it is used instead of storing it.

```
t: f32[n]
for i in seq(0, n):              for i in seq(0, n):
    t[i] = x[i] * 2.0      ->        y[i] = x[i] * 2.0 + 1.0
    y[i] = t[i] + 1.0
```

For an element of a temporary that one statement assigns and only statements after
it in the same block read, at the same place: a producer fully inlined in its consumer.
Not where the store converts the value, as one of a float to an integer does, unless the
statement that reads it converts it likewise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.conversions import conversion_lost
from schedsearch.analysis.liveness import changes
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal, Steps

VERSION = 1

MAX_OPERATIONS = 32
"""Nodes of all copies of the expression: beyond it computing again costs more than a load."""


@dataclass(frozen=True)
class Value:
    assign: q.Assign
    alloc: q.Alloc


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for value in values(proc):
        yield value.assign, {}


def values(proc: q.Proc) -> Iterator[Value]:
    allocs = {stmt.buf: stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.Alloc)}
    uses: dict[q.Var, int] = {}
    for access in accesses(proc.body):
        uses[access.buf] = uses.get(access.buf, 0) + 1
    for block in q.all_blocks(proc):
        for position, stmt in enumerate(block):
            if isinstance(stmt, q.Assign) and stmt.buf in allocs:
                after = block[position + 1 :]
                reads = [access for access in accesses(after) if access.buf == stmt.buf]
                alone = len(reads) + 1 == uses[stmt.buf]
                here = all(not read.writes and read.idx == stmt.idx for read in reads)
                kept = not (conversion_lost(stmt, after) or changes(stmt, after))
                if reads and alone and here and kept and _is_small(stmt, len(reads)):
                    yield Value(stmt, allocs[stmt.buf])


def _is_small(stmt: q.Assign, reads: int) -> bool:
    nodes = list(q.walk_expr(stmt.rhs))
    return len(nodes) * reads <= MAX_OPERATIONS and not isinstance(stmt.rhs, q.Affine)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    value = next((value for value in values(ast) if value.assign.path == path), None)
    if value is None:
        raise RewriteError("the value is used elsewhere, or changes before it is used")
    after = mirror((yield Op("inline_assign", (At(path),))))
    # Exo compares indices as text, and forgets reads that are written otherwise.
    if any(access.buf == value.alloc.buf for access in accesses(after.body)):
        raise RewriteError("a read of the value is written in another way")
    yield Op("delete_buffer", (At(value.alloc.path),))
