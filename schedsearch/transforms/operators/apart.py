"""A statement as a procedure of its own, while it is rewritten.

```
t: f32[n]                              t: f32[n]              def nest(n: size, x: f32[n]):
for i in seq(0, n):            ->      nest(n, t)                 for i in seq(0, n):
    t[i] = 0.0                                                        x[i] = 0.0
```

Exo's operators look at all of a procedure, and `simplify` edits all of it: in one of twenty nests
they take many times as long, and the edits are more than Exo can forward through.
"""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core import ast as q
from schedsearch.transforms.exo.taken_out import NEST, PUT_BACK, TAKE_OUT
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import At, Op, Steps

BRANCH = "branch"


def apart(ast: q.Proc, path: q.Path, rewrite: Callable[[Cursors], Steps]) -> Steps:
    """Rewrite the statement at a path as a procedure of its own. Exo asserts in it what is known of
    its arguments, and wrongly that no condition of an `if` before it holds: those are calls
    meanwhile."""
    places = [(path[:depth], part) for depth, part in enumerate(path) if not isinstance(part, str)]
    before = [ast.by_path.get((*block, n)) for block, part in places for n in range(part)]
    branches = [each.path for each in before if isinstance(each, q.If)]
    for branch in branches:
        yield Op(TAKE_OUT, (At(branch), BRANCH))
    yield from rewrite(Cursors((yield Op(TAKE_OUT, (At(path), NEST)))))
    yield Op(PUT_BACK)
    yield Op("inline", (At(path),))
    for branch in branches:
        yield Op("inline", (At(branch),))
