"""Exchange an `if` (or a loop) with the scope around it.

```
for i in seq(0, n):        if p:
    if p:             ->       for i in seq(0, n):
        s                          s
```

Loops inside loops are `reorder`'s business.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for outer in q.walk(proc.body):
        match outer:
            case q.For(body=(q.If() as inner,)) if outer.iter not in q.expr_vars(inner.cond):
                yield inner, {}
            case q.If(body=(q.If() as inner,)) if inner.orelse or not outer.orelse:
                yield inner, {}
            case q.If(body=(q.For() as inner,), orelse=()):
                yield inner, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("lift_scope", (At(path),)),)
