"""Give each tap of a window the iterations in which it is inside, where a sum skips the others.

```
for i in seq(0, n):                             for i in seq(1, n):
    for d in seq(0, 3):                             y[i] += w[0] * x[i - 1]
        if i + d > 0 and i + d < n + 1:    ->   for i in seq(0, n):
            y[i] += w[d] * x[i + d - 1]             y[i] += w[1] * x[i]
                                                for i in seq(0, n - 1):
                                                    y[i] += w[2] * x[i + 1]
```

Convolutions with padding, with one condition or several ones, each in a loop or another condition.
Without conditions every tap is a sum of products with a register block,
also where columns are places of the image, whose borders would be too narrow for one. The loops
over taps come outermost and are unrolled; the loops whose places they move get other ends. Sizes
that may be less than a window reaches over the edge keep a copy of the nest as it is, as for a
signal of unknown length that is filtered by what came 8 samples before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conditions import at_most_zero, sizes_of
from schedsearch.analysis.ranges import bounds, ranges_of_args
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import gaps, kept_loops, used_again
from schedsearch.transforms.blocks.shared_windows import reorder
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 2

MAX_TAPS = 49
"""Of a window of 7 x 7: each is a nest of its own."""

MOST_OPEN = {5: inf, 9: 2, MAX_TAPS: 1}
"""How many sizes may be open of windows of up to so many taps. Every nest has edges then, three
blocks instead of one: 27 take 4 s if two are, and more edits than Exo can forward cursors through
if three are."""


@dataclass(frozen=True)
class _Window:
    """Conditions around a sum, the loops around it and those over taps, all the outermost first;
    how many of those that blocks are cut from have no constant length; and what must not be
    negative, so that all taps are inside somewhere."""

    guards: tuple[q.If, ...]
    loops: tuple[q.For, ...]
    taps: tuple[q.For, ...]
    open: int
    needs: tuple[q.Affine, ...]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for found in windows(proc):
        taps = prod(tap.extent or 0 for tap in found.taps)
        if any(taps <= most and found.open <= open_ for most, open_ in MOST_OPEN.items()):
            yield found.guards[0], {}


def windows(proc: q.Proc) -> Iterator[_Window]:
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Reduce) and (found := _window(proc, stmt)) is not None:
            yield found


def _window(proc: q.Proc, stmt: q.Reduce) -> _Window | None:
    around, guards = _around(proc, stmt)
    if reduction(stmt) is None or not guards:
        return None
    tested = frozenset().union(*(q.expr_vars(guard.cond) for guard in guards))
    indices = frozenset().union(*map(q.expr_vars, stmt.idx))
    while around and around[0].iter not in tested | indices:
        del around[0]
    if not used_again(stmt, around):
        return None  # no block would follow
    taps = tuple(loop for loop in around if loop.iter in tested - indices)
    if not taps or not all(tap.extent and tap.lo == q.Affine(0) for tap in taps):
        return None
    extents = [tap.extent or 0 for tap in taps]
    if prod(extents) > MAX_TAPS:
        return None
    outside = {loop.iter: 0 for loop in around}
    for each in product(*map(range, extents)):
        values: dict[q.Leaf, int] = dict(zip((tap.iter for tap in taps), each, strict=True))
        cuts = _cuts(guards, around, values)
        if cuts is None:
            return None
        for found in cuts:
            var = found.loop.iter
            outside[var] = max(outside[var], found.before + found.after)
    needs = _needs(proc, around, outside)
    if needs is None:
        return None
    kept = kept_loops(stmt, around)
    # Neither the taps nor tiles cut the loop over a batch, which moves nothing but the image.
    steady = [read for read in reads(stmt.rhs) if not q.expr_vars(read) & tested & kept]
    cut = (tested & kept).union(*map(q.expr_vars, steady))
    unknown = sum(loop.extent is None for loop in around if loop.iter in cut & kept)
    return _Window(tuple(guards), tuple(around), taps, unknown, needs)


def _needs(
    proc: q.Proc, loops: Sequence[q.For], outside: Mapping[q.Var, int]
) -> tuple[q.Affine, ...] | None:
    """What must not be negative if loops have so many iterations, as far as it may be; None if that
    is not about sizes alone."""
    ranges, sizes = ranges_of_args(proc), sizes_of(proc)
    spare = [x.hi - x.lo - outside[x.iter] for x in loops if outside[x.iter]]
    needs = tuple(each for each in spare if bounds(each, ranges)[0] < 0)
    return needs if all(q.expr_vars(each) <= sizes for each in needs) else None


def _around(proc: q.Proc, stmt: q.Stmt) -> tuple[list[q.For], list[q.If]]:
    """The loops around a statement and the conditions among them that are about loops and have
    nothing else inside, the outermost first."""
    loops: list[q.For] = []
    guards: list[q.If] = []
    while True:
        more = [*loops_around(proc, stmt, before=inf)]
        loops = [*more[::-1], *loops]
        outermost = more[-1] if more else stmt
        guard = proc.by_path.get(outermost.path[:-1])
        if not isinstance(guard, q.If) or q.expr_vars(guard.cond) <= sizes_of(proc):
            return loops, guards
        if guard.orelse or len(guard.body) > 1 or any(len(loop.body) > 1 for loop in loops):
            return loops, guards
        guards.insert(0, guard)
        stmt = guard


@dataclass(frozen=True)
class _Cut:
    """A loop that is not inside for so many iterations at its beginning and at its end."""

    loop: q.For
    before: int
    after: int


def _cuts(
    guards: Sequence[q.If], loops: Sequence[q.For], taps: Mapping[q.Leaf, int]
) -> list[_Cut] | None:
    """Where a condition is false for these values of the loops over taps, by loops, the outermost
    first; None if that is not at the beginning or the end of one of them."""
    outside = {loop.iter: [0, 0] for loop in loops}
    of = {loop.iter: loop for loop in loops}
    for excess in (each for guard in guards for each in at_most_zero(guard.cond)):
        tested = q.substituted(excess, lambda leaf: q.as_affine(taps.get(leaf, leaf)))
        moved = [var for var in q.expr_vars(tested) if var in of]
        if not moved and tested.is_const and tested.const <= 0:
            continue
        if len(moved) != 1:
            return None
        loop, step = of[moved[0]], tested.coefficient(moved[0])
        rest = tested - q.as_affine(moved[0]).scaled(step)
        if not step:
            return None
        last = q.floor_div(rest.scaled(-1), abs(step))
        count = last.scaled(-1) - loop.lo if step < 0 else loop.hi - 1 - last
        if not count.is_const:
            return None
        end = outside[loop.iter]
        end[step > 0] = max(end[step > 0], count.const)
    return [_Cut(of[var], *ends) for var, ends in outside.items() if any(ends)]


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    found = next((each for each in windows(ast) if each.guards[0].path == path), None)
    if found is None:
        raise RewriteError("there is no window with taps that are outside")
    p = Cursors((yield None))
    guard = p.at(path)
    for each in [p.at(each.path) for each in reversed(found.guards)]:
        yield from _sink(p, each)
    loops = [*loops_around(p.ast, p.stmt(guard), before=inf)][: len(found.loops)][::-1]
    for gap, lifts in gaps(loops, p.path(guard)):
        yield from p.do("fission", After(gap), lifts)
    nest = p.path(guard)[: -len(loops)]
    for need in found.needs:
        yield from p.do("specialize", At(nest), (f"{show_affine(need)} >= 0",))
        nest = (*nest, 0)
    yield from reorder(p, nest, [loop.iter for loop in loops], [tap.iter for tap in found.taps])
    for depth in reversed(range(len(found.taps))):
        yield from p.do("unroll_loop", At((*nest, *(0,) * depth)))
    count = prod(tap.extent or 0 for tap in found.taps)
    for number in reversed(range(count)):
        yield from _cut(p, shifted(nest, number))
    yield from p.do("delete_pass")


def _sink(p: Cursors, guard: Cursor) -> Steps:
    """Move the loops inside a condition out of it."""
    stmt = p.stmt(guard)
    while isinstance(stmt, q.If) and isinstance(stmt.body[0], q.For):
        yield from p.do("lift_scope", At(stmt.body[0].path))
        stmt = p.stmt(guard)


def _cut(p: Cursors, where: q.Path) -> Steps:
    """Cut what is outside off the nest of one tap, and then the conditions."""
    loops: list[q.For] = []
    stmt = p.ast.by_path[where]
    while isinstance(stmt, q.For):
        loops.append(stmt)
        [stmt] = stmt.body
    guards: list[q.If] = []
    while isinstance(stmt, q.If):
        guards.append(stmt)
        [stmt] = stmt.body
    each_cuts = [{cut.loop.iter: cut for cut in _cuts([g], loops, {}) or []} for g in guards]
    for depth, loop in enumerate(loops):
        inside = (0,) * (len(loops) - depth)
        cuts = [each.get(loop.iter, _Cut(loop, 0, 0)) for each in each_cuts]
        after = max((cut.after for cut in cuts), default=0)
        before = max((cut.before for cut in cuts), default=0)
        if after:
            yield from p.do("cut_loop", At(where), show_affine(loop.hi - after))
            by = next(number for number, cut in enumerate(cuts) if cut.after == after)
            yield from _drop(p, (*next_path(where), *inside), by)
        if before:
            yield from p.do("cut_loop", At(where), show_affine(loop.lo + before))
            by = next(number for number, cut in enumerate(cuts) if cut.before == before)
            yield from _drop(p, (*where, *inside), by)
            where = next_path(where)
        where = (*where, 0)
    for _ in guards:
        yield from p.do("eliminate_dead_code", At(where))


def _drop(p: Cursors, outermost: q.Path, by: int) -> Steps:
    """Remove what is under conditions one inside another, of which that of number `by` is false."""
    for depth in reversed(range(by)):
        yield from p.do("lift_scope", At((*outermost, *(0,) * (depth + 1))))
    yield from p.do("eliminate_dead_code", At(outermost))
