"""Cut off the iterations at the borders of an array, so that those between need no conditions.

```
for i in seq(0, n):                    if n > 2:
    for d in seq(0, 3):                    for i in seq(0, 1):
        if i + d > 0 and i + d < n + 1:        ...
            y[i] += x[i + d - 1]           for i in seq(1, n - 1):
                                  ->           for d in seq(0, 3):
                                                   y[i] += x[i + d - 1]
                                           for i in seq(n - 1, n):
                                               ...
                                       else:
                                           ...
```

Of all loops of a nest that have borders, the outermost first: stencils and convolutions whose
windows reach over the edges. A border is so many iterations at the beginning, and so many at the
end, in which a condition may be false for some iteration of the loops inside. Sizes that may have
no iterations between keep the nest as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.analysis.conditions import at_most_zero, denied, sizes_of
from schedsearch.analysis.ranges import bounds, loops_at, lowest, ranges_of_args
from schedsearch.analysis.walkers import loops, next_path, statement_count
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1

WIDEST = 64
"""Iterations of a border: more are no border."""

MAX_STATEMENTS = 24
"""Of the nest, of which each cut makes copies."""


@dataclass(frozen=True)
class _Cut:
    """A loop of which so many iterations at the beginning and at the end are a border."""

    loop: q.For
    before: int
    after: int

    @property
    def shortage(self) -> q.Affine:
        """At most 0 if there are iterations between."""
        return self.loop.lo - self.loop.hi + (self.before + self.after + 1)


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    done: set[q.Var] = set()
    for loop in loops(proc):
        if loop.iter not in done and statement_count((loop,)) <= MAX_STATEMENTS:
            cuts, _ = _borders(proc, loop)
            if cuts and cuts[0].loop is loop:
                done.update(cut.loop.iter for cut in cuts)
                if not _kept(proc, loop, cuts):
                    yield loop, {}


def _kept(proc: q.Proc, nest: q.For, cuts: list[_Cut]) -> bool:
    """Whether the nest is the one for sizes that have no iterations between."""
    needs = {cut.shortage for cut in cuts if _may_lack(proc, cut)}
    return bool(needs) and any(set(at_most_zero(cond)) == needs for cond in denied(proc, nest.path))


def has_borders(proc: q.Proc, nest: q.For) -> bool:
    """Whether a nest has loops of which most iterations are between borders."""
    cuts, _ = _borders(proc, nest)
    return any(2 * (cut.before + cut.after) <= (cut.loop.extent or inf) for cut in cuts)


def _borders(proc: q.Proc, nest: q.For) -> tuple[list[_Cut], list[q.If]]:
    """The cuts of loops around the first `if` in a nest, outermost first, and what they decide."""
    ifs = [stmt for stmt in q.walk(nest.body) if isinstance(stmt, q.If) and not stmt.orelse]
    if not ifs:
        return [], []
    around = [each for each in loops_at(proc, ifs[0].path) if len(each.path) >= len(nest.path)]
    cuts = [cut for loop in around if (cut := _cut(proc, loop, ifs)) is not None]
    if any(cut.loop.parallel for cut in cuts):
        return [], []
    last = cuts[-1].loop.path if cuts else ()
    return cuts, [each for each in ifs if each.path[: len(last)] == last]


def _cut(proc: q.Proc, loop: q.For, ifs: list[q.If]) -> _Cut | None:
    sizes = sizes_of(proc)
    if not q.expr_vars(loop.lo) | q.expr_vars(loop.hi) <= sizes:
        return None
    before = after = 0
    for each in ifs:
        around = [inner for inner in loops_at(proc, each.path) if len(inner.path) > len(loop.path)]
        within = {inner.iter: inner for inner in around}
        for excess in at_most_zero(each.cond):
            step = excess.coefficient(loop.iter)
            if each.path[: len(loop.path)] != loop.path or abs(step) != 1:
                continue
            rest = excess - q.as_affine(loop.iter).scaled(step)
            most = lowest(rest.scaled(-1), within).scaled(-1)
            border = most - loop.lo.scaled(-step) if step < 0 else most + loop.hi - 1
            if not border.is_const or border.const > WIDEST:
                continue
            if step < 0:
                before = max(before, border.const)
            else:
                after = max(after, border.const)
    enough = loop.extent is None or loop.extent > before + after
    return _Cut(loop, before, after) if before + after and enough else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    nest = ast.by_path.get(path)
    cuts, ifs = _borders(ast, nest) if isinstance(nest, q.For) else ([], [])
    if not cuts or cuts[0].loop is not nest:
        raise RewriteError("there is no loop with borders")
    p = Cursors((yield None))
    needs = [
        f"{show_affine(cut.loop.hi - cut.loop.lo)} > {cut.before + cut.after}"
        for cut in cuts
        if _may_lack(ast, cut)
    ]
    if needs:
        yield from p.do("specialize", p.at(path), (" and ".join(needs),))
        path = (*path, 0)
    above = nest.path
    for cut in cuts:
        path = (*path, *cut.loop.path[len(above) :])
        above = cut.loop.path
        if cut.after:
            yield from p.do("cut_loop", p.at(path), show_affine(cut.loop.hi - cut.after))
        if cut.before:
            yield from p.do("cut_loop", p.at(path), show_affine(cut.loop.lo + cut.before))
            path = next_path(path)
    for each in reversed(ifs):
        yield from p.do("eliminate_dead_code", p.at((*path, *each.path[len(above) :])))


def _may_lack(ast: q.Proc, cut: _Cut) -> bool:
    """Whether there are sizes without an iteration between."""
    return bounds(cut.shortage, ranges_of_args(ast))[1] > 0
