"""Divide a loop into an outer and an inner one of constant length.

```
for i in seq(0, n):        for io in seq(0, n / 8):
    s(i)              ->       for ii in seq(0, 8):
                                   s(8 * io + ii)
```

What happens to the last `n % 8` iterations is the argument `tail`: `perfect`
(there are none, and Exo can prove it), `cut` (a loop of their own after it),
`guard` (an `if` inside), `cut_and_guard` (a guarded loop of their own).
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import element_bits, fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.blocks.factors import divides, split_factors
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    taken = names(proc)
    for loop in loops(proc):
        if loop.lo != q.Affine(0):
            continue  # Exo divides only loops that start at 0
        new = {
            "outer": fresh(taken, f"{loop.iter.name}o"),
            "inner": fresh(taken, f"{loop.iter.name}i"),
        }
        bits = element_bits(loop.body)
        for factor in split_factors(target, bits, loop.extent):
            perfect = divides(proc, factor, loop.hi, loop.path)
            for tail in ("perfect",) if perfect else ("cut", "guard", "cut_and_guard"):
                yield loop, {"factor": factor, "tail": tail, **new}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    tail = (("perfect", True),) if args["tail"] == "perfect" else (("tail", args["tail"]),)
    new = (args["outer"], args["inner"])
    return (Op("divide_loop", (At(path), args["factor"], new), tail),)
