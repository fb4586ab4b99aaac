"""Cut a loop where it overwrites an element that all its iterations read.

```
for j in seq(0, n):                  for j in seq(0, k):
    D[i, j] += D[i, k] * D[k, j]         D[i, j] += D[i, k] * D[k, j]
                                ->   D[i, k] += D[i, k] * D[k, k]
                                     for j in seq(0, n - k - 1):
                                         D[i, j + k + 1] += D[i, k] * D[k, j + k + 1]
```

The first and the last part no longer change what they read: the element is loaded once, and vectors
of iterations are independent. Known as index set splitting (Griebl, Feautrier and Lengauer, 2000).
Shortest paths (Floyd and Warshall) and the elimination of Gauss and Jordan need it.
"""

from collections.abc import Iterator

from schedsearch.analysis.overwritten import overwriters
from schedsearch.analysis.walkers import loops, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if not loop.parallel and (loop.extent is None or loop.extent > 1):
            for iteration in overwriters(loop):
                yield loop, {"at": show_affine(iteration)}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    if not isinstance(loop, q.For) or args["at"] not in map(show_affine, overwriters(loop)):
        raise RewriteError("there is no loop that overwrites there what all its iterations read")
    p = Cursors((yield None))
    before = p.at(path)
    yield from p.do("cut_loop", before, args["at"])
    there = p.at(next_path(p.path(before)))
    yield from p.do("cut_loop", there, f"{args['at']} + 1")
    after = p.at(next_path(p.path(there)))
    yield from p.do("shift_loop", there, 0)
    yield from p.do("shift_loop", after, 0)
    yield from p.do("simplify")
    yield from p.do("unroll_loop", there)
