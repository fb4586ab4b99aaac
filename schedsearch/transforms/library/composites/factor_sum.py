"""Take factors out of a sum that it does not change, and sum up the rest first.

```
for u in seq(0, N):                                 Y_s: f32[N, N]
    for v in seq(0, N):                             for x in seq(0, N):
        for x in seq(0, N):                             for v in seq(0, N):
            for y in seq(0, N):                             Y_s[x, v] = 0.0
                Y[u, v] += C[u, x] * X[x, y]    ->          for y in seq(0, N):
                    * C[v, y]                                   Y_s[x, v] += X[x, y] * C[v, y]
                                                    for u in seq(0, N):
                                                        for v in seq(0, N):
                                                            for x in seq(0, N):
                                                                Y[u, v] += C[u, x] * Y_s[x, v]
```

Multiplication is distributive over addition: `N ** 4` operations become `2 * N ** 3`. The sum
leaves the loops that it does not depend on, and has an element for every iteration of those that it
does. Products of matrices from both sides, bilinear forms, `A * B * x` and transformations along
several indices become chains of products of two arrays, as the operations are the fewest
(`analysis/contractions.py`). A factor may be an expression (`x[i] - mean[i]`).

With `window` neighbours share a part of their sums, as windows of an image do. The rows of the
result are counted from what a window reads on, so that the part is the same for all of them:

```
                                              y_s: f32[n, m]
                                              for i in seq(4, n):
for i in seq(0, n):                               for j in seq(0, m):
    for j in seq(0, m):                               y_s[i, j] = 0.0
        for r in seq(0, 5):                           for s in seq(0, 5):
            for s in seq(0, 5):           ->              y_s[i, j] += w[s] * x[i, j + s]
                y[i, j] +=                    for i in seq(4, n - 4):
                    v[r] * (w[s] * x[i + r,       for r in seq(0, 5):
                                     j + s])          for j in seq(0, m):
                                                          y[i, j] += v[r] * y_s[i + r, j]
                                              ...  # the first and the last 4 rows
```

Filters that are separable, and means, take `2 * r` operations for each element instead of `r ** 2`.

Proposed where it saves operations, more than products of factors before the nest do
(`fold_operand`), and under the contract `fast` alone: results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.factored import factor, factored
from schedsearch.transforms.blocks.shared_windows import share, windowed_sum
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    if target.fp is not FloatingPoint.FAST:
        return
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Reduce):
            continue
        if factored(proc, stmt) is not None:
            yield stmt, {}
        elif windowed_sum(proc, stmt) is not None:
            yield stmt, {"window": True}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    if isinstance(stmt, q.Reduce):
        if args.get("window", False) is True:
            if (window := windowed_sum(ast, stmt)) is not None:
                yield from share(ast, window)
                return
        elif (found := factored(ast, stmt)) is not None:
            yield from factor(found)
            return
    raise RewriteError("to sum some of its factors up first saves no operations")
