"""Cut a loop where it overwrites an element that all its iterations read.

```
for j in seq(0, n):                  D_s: f32
    D[i, j] += D[i, k] * D[k, j]     D_s = D[i, k]
                                     for j in seq(0, k):
                                         D[i, j] += D_s * D[k, j]
                                ->   D[i, k] += D[i, k] * D[k, k]
                                     D_s_2: f32
                                     D_s_2 = D[i, k]
                                     for j in seq(0, n - k - 1):
                                         D[i, j + k + 1] += D_s_2 * D[k, j + k + 1]
```

The first and the last part do not change what they read: a scalar has it, and iterations can fill
vectors. Known as index set splitting (Griebl, Feautrier and Lengauer, 2000).
Shortest paths (Floyd and Warshall) and the elimination of Gauss and Jordan need it.
"""

from collections.abc import Iterator

from schedsearch.analysis.overwritten import overwritten
from schedsearch.analysis.walkers import fresh, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_access, show_affine
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if not loop.parallel and (loop.extent is None or loop.extent > 1):
            for _, element in overwritten(loop):
                yield loop, {"element": show_access(*element)}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, element = ast.by_path.get(path), args["element"]
    found = overwritten(loop) if isinstance(loop, q.For) else ()
    ends = {show_access(*each): show_affine(iteration) for iteration, each in found}
    if not isinstance(element, str) or element not in ends:
        raise RewriteError("there is no loop that overwrites this element and reads it throughout")
    name = f"{element.partition('[')[0]}_s"
    p = Cursors((yield None))
    before = p.at(path)
    yield from p.do("cut_loop", before, ends[element])
    there = p.at(next_path(p.path(before)))
    yield from p.do("cut_loop", there, f"{ends[element]} + 1")
    after = p.at(next_path(p.path(there)))
    yield from p.do("shift_loop", there, 0)
    yield from p.do("shift_loop", after, 0)
    yield from p.do("simplify")
    yield from p.do("unroll_loop", there)
    for part in (before, after):
        yield from p.do("stage_mem", part, element, fresh(names(p.ast), name))
    yield from p.do("simplify")
