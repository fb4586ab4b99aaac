"""Cut a loop in two at a constant iteration.

```
for i in seq(0, 100):        for i in seq(0, 96):
    s(i)                ->       s(i)
                             for i in seq(96, 100):
                                 s(i)
```

Cuts are proposed where the rest is a whole number of vectors, and next to the
first and the last iteration (borders).
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import element_bits, lanes, loops
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        extent = loop.extent
        if extent is None or extent < 2 or not loop.lo.is_const:
            continue
        vector = lanes(target, element_bits(loop.body))
        for offset in sorted({1, extent - 1, extent - extent % vector}):
            if 0 < offset < extent:
                yield loop, {"point": loop.lo.const + offset}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("cut_loop", (At(path), args["point"])),)
