"""Carry out a loop over narrow rows in whole vector registers, several rows side by side.

```
for i in seq(0, n):
    for j in seq(0, 3):          ->   vec_f32x16_add_...(n, A[0:n, 0:3], s[0:3])
        s[j] += A[i, j]
```

For rows that follow each other in memory without a gap, `A[i, j]` with all of `j`, or
`x[3 * i + j]`. 16 rows of 3 elements are 3 registers of 16. Each has sums of its own, in several
`chains`, which hides the latency of an addition; at the end those of one column are added up, or
the smallest or largest one of them is taken. What belongs to a column (`m[j]`) is brought into
registers before, and what belongs to a row (`w[i]`) is spread over its elements. Assignments beside
a sum are carried out with it; alone they gain nothing over what compilers do.

Sums of columns, their means and variances, colours of pixels, and sums with a short period (after
`divide_by_period`) need it: a sum of less than a register waits for each addition.

The instruction is for one row at least; a loop that may have none is kept for that case. Under
`strict`, only integers are added up in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.skewing import may_be_long
from schedsearch.transforms.blocks.vectors import running_from_zero
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, Proposal, Steps
from schedsearch.transforms.vector.fused.joined import Walk, fuse_rows, registers, walks
from schedsearch.transforms.vector.fused.model import Fused, reduced, widest

VERSION = 1
NORMAL_FORM = 6

CHAINS = (8, 4, 2, 1)
ENOUGH = 8
"""Registers that add independently: two additions can start in each of the four cycles that one
takes."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        lanes = target.vector_bits // (8 * widest(loop.body))
        fused = fuse_rows(proc, loop, lanes, 1)
        if fused is None or not may_be_long(proc, loop.path, loop.hi - loop.lo):
            continue
        sums = list(reduced(fused))
        if target.fp is FloatingPoint.STRICT and any(stmt.type in FLOATS for stmt in sums):
            continue
        each = registers(fused.row, lanes)
        if _kept(fused) * each > target.vector_registers or not sums:
            continue
        chains = next(n for n in CHAINS if n * each * len(sums) <= ENOUGH or n == 1)
        if loop.extent is None or loop.extent * fused.row >= lanes:
            yield loop, {"lanes": lanes, "chains": chains}


def _kept(fused: Fused) -> int:
    """Arrays that have registers of their own all the time."""
    return sum(walk is Walk.COLUMN for walk in walks(fused).values())


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, lanes, chains = ast.by_path.get(path), args["lanes"], args["chains"]
    if not all(type(number) is int for number in (lanes, chains)) or chains not in CHAINS:
        raise RewriteError("lanes and chains are whole numbers, of chains 1, 2, 4 or 8")
    if not isinstance(loop, q.For) or fuse_rows(ast, loop, lanes, chains) is None:
        raise RewriteError("the rows of this loop do not follow each other in memory")
    p = Cursors((yield None))
    path = yield from running_from_zero(p, path)
    rows = p.ast.by_path[path]
    assert isinstance(rows, q.For)
    fused = fuse_rows(p.ast, rows, lanes, chains)
    if fused is None:
        raise RewriteError("the rows of this loop do not follow each other in memory")
    yield from p.do("replace", At(path), fused)
