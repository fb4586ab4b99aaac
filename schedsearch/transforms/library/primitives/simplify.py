"""Fold index arithmetic and conditions that Exo can decide, remove loops that never run.

```
for i in seq(0, 8):          for i in seq(0, 8):
    if 1 < 4:           ->       x[i] = 0.0
        x[i % 8] = 0.0
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import statement_count
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, Op, Proposal

VERSION = 1

MAX_STATEMENTS = 200
"""Exo's simplify takes seconds on more statements, and ends in a RecursionError on 500."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    small = statement_count(proc.body) <= MAX_STATEMENTS
    if small and any(_worthwhile(stmt) for stmt in q.walk(proc.body)):
        yield None, {}


def _worthwhile(stmt: q.Stmt) -> bool:
    """Sums are in normal form already; what is left are branches, empty loops, `/` and `%`."""
    match stmt:
        case q.If():
            return True
        case q.For(extent=0):
            return True
        case _:
            return any(isinstance(part, q.FloorDiv | q.Mod) for part in q.stmt_parts(stmt))


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("simplify"),)
