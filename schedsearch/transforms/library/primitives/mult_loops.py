"""Merge two perfectly nested loops into one; the inverse of a perfect split.

```
for i in seq(0, n):
    for j in seq(0, 8):   ->   for ij in seq(0, 8 * n):
        s(i, j)                    s(ij / 8, ij % 8)
```
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import fresh, names, perfect_pairs
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    taken = names(proc)
    for outer, inner in perfect_pairs(proc):
        zero = q.Affine(0)
        if inner.extent and inner.lo == zero and outer.lo == zero:
            yield outer, {"name": fresh(taken, joined(outer.iter.name, inner.iter.name))}


def joined(outer: str, inner: str) -> str:
    """`i` of `io` and `ii`, which a split made of it; `ij` of `i` and `j`, also if they were split
    before."""
    if (outer[-1], inner[-1]) == ("o", "i") and outer[:-1] == inner[:-1] != "":
        return outer[:-1]
    return "".join(name[0] + name[1:].rstrip("oi") for name in (outer, inner))


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("mult_loops", (At(path), args["name"])),)
