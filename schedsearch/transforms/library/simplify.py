"""Fold constants and conditions that Exo can decide, remove loops of one iteration.

```
for i in seq(0, 1):
    if i < 4:          ->   x[0] = 0.0
        x[i] = 0.0
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.ops import Args, Op, Proposal
from schedsearch.transforms.walkers import statement_count

VERSION = 1

MAX_STATEMENTS = 200
"""Exo's simplify takes seconds on more statements, and ends in a RecursionError on 500."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    small = statement_count(proc.body) <= MAX_STATEMENTS
    if small and any(_worthwhile(stmt) for stmt in q.walk(proc.body)):
        yield None, {}


def _worthwhile(stmt: q.Stmt) -> bool:
    """Sums are in normal form already; what is left are branches, short loops, `/` and `%`."""
    match stmt:
        case q.If():
            return True
        case q.For() if stmt.extent is not None and stmt.extent <= 1:
            return True
        case _:
            return any(
                isinstance(node, q.FloorDiv | q.Mod)
                for expr in q.stmt_exprs(stmt)
                for node in q.walk_expr(expr)
            )


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("simplify"),)
