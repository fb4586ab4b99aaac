"""Swap two adjacent statements that do not depend on each other.

```
s1        s2
s2   ->   s1
```

At least one of them is a loop or an `if`: the order of simple statements is the
C compiler's business.
"""

from collections.abc import Iterator

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.walkers import neighbours
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, Op, Pair, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for first, second in neighbours(proc):
        if not q.blocks(first) and not q.blocks(second):
            continue
        if isinstance(first, q.Alloc | q.WindowStmt) or isinstance(second, q.WindowStmt):
            continue  # moving declarations is the business of lift_alloc
        a, b = (first,), (second,)
        # Writing what the other reads or writes is only harmless for two reductions.
        clash = (written_buffers(a) & q.used_vars(b)) | (written_buffers(b) & q.used_vars(a))
        if not clash or (isinstance(first, q.Reduce) and isinstance(second, q.Reduce)):
            yield first, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("reorder_stmts", (Pair(path),)),)
