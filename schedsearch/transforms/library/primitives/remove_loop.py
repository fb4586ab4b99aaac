"""Remove a loop whose body does the same in every iteration.

```
for i in seq(0, 8):
    x = 0.0           ->   x = 0.0
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import depends_on, loops
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        # From elsewhere Exo's check is unsound, and `run_op` refuses.
        same_each_time = not depends_on(loop.body, loop.iter) and not _reduces(loop)
        if loop.lo == q.Affine(0) and same_each_time:
            yield loop, {}


def _reduces(loop: q.For) -> bool:
    return any(isinstance(stmt, q.Reduce) for stmt in q.walk(loop.body))


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("remove_loop", (At(path),)),)
