"""Cut a loop where a condition about it changes, so that its parts need no condition.

```
for i in seq(0, n):                    for i in seq(0, n):
    for j in seq(0, n):                    for j in seq(0, i + 1):
        if j <= i:                             S[i, j] = x[i] * y[j]
            S[i, j] = x[i] * y[j]  ->      for j in seq(i + 1, n):
        else:                                  S[i, j] = 0.0
            S[i, j] = 0.0
```

Triangles and bands of matrices, as causal attention has them, and cases on the diagonal. Known as
index set splitting (Griebl, Feautrier and Lengauer, 2000). Where a condition begins or ends inside
of the loop for some iterations of a loop around it only, that one is cut first: of the band
`i - 8 <= j` that over `i`, at 8. Sizes for which that place lies beyond the end of a loop keep a
copy of the nest as it is. Windows over the borders of an array are left to `cut_borders` and
`cut_taps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.conditions import (
    at_most_zero,
    conjuncts,
    denied,
    guards,
    known,
    negated,
    sizes_of,
)
from schedsearch.analysis.ranges import bounds, loops_at, lowest, ranges_of_args
from schedsearch.analysis.walkers import loops, shifted, statement_count
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.library.composites.cut_borders import has_borders
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Args, At, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1

MAX_STATEMENTS = 24
"""Of the loop, of which each cut makes a copy."""

MAX_CASES = 6
"""Conditions on sizes around a loop, as a box between four sizes needs. A copy for other sizes is
not copied again: of that box there were 23 of them, and five conditions took 22 s."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        cuts = _cuts(proc, loop) if statement_count((loop,)) <= MAX_STATEMENTS else []
        if cuts and _may_be_copied(proc, loop, {need for cut in cuts for need in cut.needs}):
            yield loop, {}


def _may_be_copied(proc: q.Proc, loop: q.For, needs: set[q.Affine]) -> bool:
    """Whether a loop is in no copy for other sizes, and not in many cases; or is not copied."""
    sizes = sizes_of(proc)
    other = any(q.expr_vars(cond) <= sizes for cond in denied(proc, loop.path))
    cases = sum(q.expr_vars(cond) <= sizes for cond in guards(proc, loop.path))
    return not needs or (not other and cases + len(needs) <= MAX_CASES)


@dataclass(frozen=True)
class _Cut:
    """Where to cut a loop, and what must not be negative for that to be inside of it."""

    point: q.Affine
    needs: tuple[q.Affine, ...]


def _cuts(proc: q.Proc, loop: q.For) -> list[_Cut]:
    """The cuts of a loop, in ascending order."""
    found: list[_Cut] = []
    for cut in () if loop.parallel else _wanted(proc, loop):
        later = [each for each in found if _holds(proc, loop, each.point - cut.point)]
        earlier = [each for each in found if _holds(proc, loop, cut.point - each.point)]
        known_order = len(earlier) + len(later) == len(found)
        if known_order:  # of equal places one is both, so that the order is not known
            found.insert(len(earlier), cut)
    return found


def _wanted(proc: q.Proc, loop: q.For) -> Iterator[_Cut]:
    """Where conditions change inside of a loop, or begin to do so in a loop inside of it."""
    for each in q.walk(loop.body):
        if isinstance(each, q.If):
            around = list(loops_at(proc, each.path))
            if not has_borders(proc, around[0]):
                for excess in at_most_zero(each.cond):
                    yield from _changes(proc, around, excess, loop)


def _changes(proc: q.Proc, around: list[q.For], excess: q.Affine, loop: q.For) -> Iterator[_Cut]:
    """Where `excess` stops or starts to be at most 0 in a loop; `around` a statement."""
    about = next((each for each in reversed(around) if q.mentions(excess, each.iter)), None)
    if about is None:
        return
    step = excess.coefficient(about.iter)
    rest = excess - q.as_affine(about.iter).scaled(step)
    if abs(step) != 1 or q.mentions(rest, about.iter):
        return
    point = rest if step < 0 else rest.scaled(-1) + 1
    inside = (point - about.lo, about.hi - point)
    needs = tuple(each for each in inside if not _holds(proc, about, each))
    if about is loop:
        parts = not any(_holds(proc, loop, each.scaled(-1)) for each in inside)
        if parts and all(q.expr_vars(each) <= sizes_of(proc) for each in needs):
            yield _Cut(point, needs)
    elif len(about.path) > len(loop.path):
        for each in needs:
            yield from _changes(proc, around[: around.index(about)], each.scaled(-1), loop)


def _holds(proc: q.Proc, stmt: q.Stmt, value: q.Affine) -> bool:
    """Whether a value is at least 0 in all iterations of the loops around a statement."""
    around = {each.iter: each for each in loops_at(proc, stmt.path)}
    least = lowest(value, around)
    if bounds(least, ranges_of_args(proc))[0] >= 0:
        return True
    given = (each for cond in _known(proc, stmt.path) for each in at_most_zero(cond))
    return any(bounds(least + each, ranges_of_args(proc))[0] >= 0 for each in given)


def _known(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """Conditions on sizes that hold at a statement, also because it is in an `else`."""
    yield from known(proc, path)
    yield from negated(proc, path)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path.get(path)
    cuts = _cuts(ast, loop) if isinstance(loop, q.For) else []
    if not cuts:
        raise RewriteError("there is no loop in which a condition changes")
    p = Cursors((yield None))
    for need in dict.fromkeys(each for cut in cuts for each in cut.needs):
        yield from p.do("specialize", At(path), (f"{show_affine(need)} >= 0",))
        path = (*path, 0)
    for cut in reversed(cuts):
        yield from p.do("cut_loop", At(path), show_affine(cut.point))
    for number in reversed(range(len(cuts) + 1)):
        yield from _without_conditions(p, p.at(shifted(path, number)))
    yield from p.do("delete_pass")
    yield from p.do("simplify")


def _without_conditions(p: Cursors, part: Cursor) -> Steps:
    """Decide the conditions in a part of a loop; one iteration is no loop any more."""
    while found := next(_decided(p.ast, p.path(part)), None):
        yield from p.do("eliminate_dead_code", At(found.path))
    loop = p.stmt(part)
    if not isinstance(loop, q.For):
        raise RewriteError("a part is no loop")
    once = loop.extent == 1
    if once or q.expr_vars(loop.lo) <= sizes_of(p.ast):
        yield from p.do("shift_loop", part, 0)
    if once:
        yield from p.do("simplify")
        yield from p.do("unroll_loop", part)


def _decided(proc: q.Proc, path: q.Path) -> Iterator[q.If]:
    """The conditions in a loop that are the same in all iterations."""
    for each in q.walk((proc.by_path[path],)):
        if not isinstance(each, q.If):
            continue
        within = q.expr_vars(each.cond) - sizes_of(proc)
        parts = list(conjuncts(each.cond))
        excesses = [list(at_most_zero(part)) for part in parts]
        always = all(
            some and all(_holds(proc, each, excess.scaled(-1)) for excess in some)
            for some in excesses
        )
        never = any(_holds(proc, each, excess - 1) for some in excesses for excess in some)
        if within and (always or never):
            yield each
