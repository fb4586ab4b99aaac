"""Divide a loop by the period with which its indices repeat.

```
for i in seq(0, n):              for io in seq(0, n / 96):
    s[i % 96] += x[i]                for ii in seq(0, 96):
                                         s[ii] += x[96 * io + ii]
                          ->     for ii in seq(0, n % 96):
                                     s[(96 * (n / 96) + ii) % 96] += x[96 * (n / 96) + ii]
```

Of `e % d` and `e / d`: the period is `d`, divided by the factor of the variable in `e`. What is
left moves by one element in the inner loop, and vectors and registers apply. Where a period does
not begin with the loop, the iterations before it are a loop of their own (`peel`). Short periods
of several beginnings are unrolled instead (`unroll`).

Means over a period of time, images stored as one row, interleaved channels, and enlarged signals
(`y[i] = x[i / 2]`) need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf

from schedsearch.analysis.ranges import Ranges, bind_loops, bounds, ranges_of_args
from schedsearch.analysis.walkers import fresh, loops, names, next_path, statement_count
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.skewing import may_be_long
from schedsearch.transforms.library.primitives.rows import MAX_UNROLLED
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1

SMALL = range(2, 9)
"""Periods that are unrolled where they begin in several iterations."""

Period = tuple[int, int]
"""Iterations after which an index is as before, or one further; and how many of them come before
the first whole period."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    for loop in loops(proc):
        found = Counter(_periods(loop, ranges))
        for length in sorted({length for length, _ in found}, reverse=True):
            starts = {start: times for (of, start), times in found.items() if of == length}
            size = length * statement_count(loop.body)
            unroll = len(starts) > 1 and length in SMALL and size <= MAX_UNROLLED
            peel = 0 if unroll else max(sorted(starts), key=starts.__getitem__)
            rest = loop.hi - loop.lo - peel
            if bounds(rest, ranges)[1] > length and may_be_long(proc, loop.path, rest):
                yield loop, {"period": length, "peel": peel, "unroll": unroll}


def _periods(loop: q.For, ranges: Ranges) -> Iterator[Period]:
    """Of every remainder and quotient in a loop that is none in a whole period."""
    if loop.parallel:
        return
    for part in (part for stmt in q.walk(loop.body) for part in q.stmt_parts(stmt)):
        if not isinstance(part, q.Mod | q.FloorDiv):
            continue
        factor = part.num.coefficient(loop.iter)
        if factor <= 0 or part.den % factor or factor == part.den:
            continue
        rest = part.num - q.as_affine(loop.iter).scaled(factor) + loop.lo.scaled(factor)
        low, high = bounds(q.modulo(rest, part.den) if rest.is_const else rest, ranges)
        if not (-inf < low and low // factor == high // factor):
            continue
        length = part.den // factor
        start = int(-(low // factor)) % length
        if low % factor == 0 or (start == 0 and 0 <= low < part.den):  # else Exo leaves them
            yield length, start


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    period, peel, unroll = args["period"], args["peel"], args["unroll"]
    if not all(type(number) is int for number in (period, peel)) or not 0 <= peel < period:
        raise RewriteError("period and peel are whole numbers, and less is peeled than a period")
    if type(unroll) is not bool:
        raise RewriteError("unroll is true or false")
    if not isinstance(loop, q.For) or loop.parallel:
        raise RewriteError("there is no sequential loop")
    p = Cursors((yield None))
    length, ranges = loop.hi - loop.lo, bind_loops(ranges_of_args(ast), ast.body)
    if peel and bounds(length, ranges)[0] < peel:
        condition = f"{show_affine(length)} > {peel}"
        yield from p.do("specialize", p.at(path), (condition,))
        path = (*path, 0)
    if peel:
        yield from p.do("cut_loop", p.at(path), show_affine(loop.lo + peel))
        path = next_path(path)
    held = p.at(path)
    if peel or loop.lo != q.Affine(0):
        yield from p.do("shift_loop", held, 0)
    taken = names(ast)
    new = (fresh(taken, f"{loop.iter.name}o"), fresh(taken, f"{loop.iter.name}i"))
    whole = divides(ast, period, length - peel, path)
    how = {"perfect": True} if whole else {"tail": "cut"}
    yield from p.do("divide_loop", held, period, new, **how)
    if unroll:
        yield from p.do("unroll_loop", p.at(p.path(held, 0)))
    yield from p.do("simplify")
