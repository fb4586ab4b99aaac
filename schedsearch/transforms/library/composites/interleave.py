"""Unroll an innermost loop statement by statement.

```
for i in seq(0, 8):              for i in seq(0, 4):
    t: f32                           t_0: f32
    t = x[i] * x[i]        ->        t_1: f32
    y[i] = t / z[i]                  t_0 = x[2 * i] * x[2 * i]
                                     t_1 = x[2 * i + 1] * x[2 * i + 1]
                                     y[2 * i] = t_0 / z[2 * i]
                                     y[2 * i + 1] = t_1 / z[2 * i + 1]
```

Chains of dependent operations of different iterations run side by side; the C
compiler may not reorder stores and loads of arrays that it cannot tell apart.
Iterations that the factor does not divide get a loop of their own.
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.jam import jam_steps, jammable
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1

FACTORS = (2, 4)

STATEMENTS = range(2, 9)
"""Lengths of a body that has an order to change and is not yet long enough by itself."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        simple = [stmt for stmt in loop.body if not isinstance(stmt, q.Alloc | q.Pass)]
        if len(simple) not in STATEMENTS or any(q.blocks(stmt) for stmt in simple):
            continue
        if jammable(loop):
            for factor in FACTORS:
                if loop.extent is None or factor <= loop.extent:
                    yield loop, {"factor": factor}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    yield from jam_steps(ast, path, args["factor"])
