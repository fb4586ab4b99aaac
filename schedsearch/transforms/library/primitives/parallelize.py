"""Run the iterations of a loop on several threads (OpenMP).

```
for i in seq(0, n):        for i in par(0, n):
    x[i] = y[i]       ->       x[i] = y[i]
```

For the outermost loops whose iterations are independent (`analysis/independence.py`), with an
iteration for every thread at least; never inside another parallel loop, nor over what a tile
leaves, which is little and takes Exo a minute to prove. They come last in the
normal form, where the estimate says that a loop takes longer than to start its threads.
"""

from collections.abc import Iterator

from schedsearch.analysis.independence import divisible, on_threads
from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal, Steps

VERSION = 1
NORMAL_FORM = 7
IF_CHEAPER = True

LEFT = 64
"""Iterations of a tile."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if target.threads > 1:
        for loop in _outermost(proc, proc.body, target.threads):
            yield loop, {}


def _outermost(proc: q.Proc, body: tuple[q.Stmt, ...], threads: int) -> Iterator[q.For]:
    for stmt in body:
        if isinstance(stmt, q.For):
            if stmt.parallel:
                continue
            if _alone(stmt) and not _left(proc, stmt) and divisible(proc, stmt, threads):
                yield stmt
                continue
        for block in q.blocks(stmt):
            yield from _outermost(proc, block, threads)


def _left(proc: q.Proc, loop: q.For) -> bool:
    """Whether an unknown number of iterations is certain to be small."""
    return loop.extent is None and trips(loop, ranges_at(proc, loop.path[:-1]))[1] < LEFT


def _alone(loop: q.For) -> bool:
    """Whether nothing inside is parallel."""
    return not any(map(on_threads, loop.body))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path[path]
    around = (ast.by_path.get(path[:end]) for end in range(1, len(path)))
    if not isinstance(loop, q.For) or not _alone(loop):
        raise RewriteError("there is no loop with only sequential loops inside")
    if any(isinstance(stmt, q.For) and stmt.parallel for stmt in around):
        raise RewriteError("a loop around is parallel already")
    yield Op("parallelize_loop", (At(path),))
