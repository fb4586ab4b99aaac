"""Give a sum of products loops of its own, and temporaries an element for every iteration.

```
for i in seq(0, n):                        t: f32[n, m]
    for j in seq(0, m):                    for i in seq(0, n):
        t: f32                                 for j in seq(0, m):
        t = b[j]                                   t[i, j] = b[j]
        for k in seq(0, p):          ->    for i in seq(0, n):
            t += x[i, k] * w[j, k]             for j in seq(0, m):
        y[i, j] = relu(t)                          for k in seq(0, p):
                                                       t[i, j] += x[i, k] * w[j, k]
                                           for i in seq(0, n):
                                               for j in seq(0, m):
                                                   y[i, j] = relu(t[i, j])
```

Its result has two dimensions then, and register blocks. So do minima and maxima, with what is
computed beside them in their innermost loop. Proposed where temporaries stand in the
way, the sum's own or others (`total` in `out[i, d] = out[i, d] / total`), and where each of two
operands is used for several elements of the result: other sums take as long as their loads.

With `batched` the sum has the loops around these as well that one of its operands does not depend
on, if what is stored in them is as large as the temporaries become: an operand that is packed or in
cache serves all sequences of a batch.

```
for b in seq(0, c):                        t: f32[c, n, m]
    for i in seq(0, n):                    ...
        for j in seq(0, m):                for b in seq(0, c):
            t: f32                             for i in seq(0, n):
            ...                      ->            for j in seq(0, m):
                t += x[b, i, k] * w[j, k]              for k in seq(0, p):
            y[b, i, j] = relu(t)                           t[b, i, j] += x[b, i, k] * w[j, k]
                                           ...
```

With `grouped` a loop that adds the sum of each of its iterations to an outer sum comes outside of
the rows and columns of both first. The temporaries of all groups would be many times the result:

```
                                                  y[...] = 0.0  # all of it
for i in seq(0, n):                               for g in seq(0, c):
    for j in seq(0, m):                               t: f32[n, m]
        y[i, j] = 0.0                                 for i in seq(0, n):
        for g in seq(0, c):                               for j in seq(0, m):
            t: f32                                            t[i, j] = 0.0
            t = 0.0                         ->                for k in seq(0, 32):
            for k in seq(0, 32):                                  t[i, j] += x[i, g, k] * w[j, g, k]
                t += x[i, g, k] * w[j, g, k]          for i in seq(0, n):
            y[i, j] += s[j, g] * t                        for j in seq(0, m):
                                                              y[i, j] += s[j, g] * t[i, j]
```

With `late` the sum comes after everything else in its loops, where that overwrites elements of the
result that the sum does not add to yet:

```
for i in seq(0, n):                        for i in seq(0, n):
    for j in seq(0, m):                        for j in seq(0, m):
        for k in seq(0, i):                        y[i, j] = b * y[i, j]
            y[k, j] += x[i, k] * w[i, j]   ->  for i in seq(0, n):
        y[i, j] = b * y[i, j]                      for j in seq(0, m):
                                                       for k in seq(0, i):
                                                           y[k, j] += x[i, k] * w[i, j]
```

A scalar that such a sum shares with the rest, as `t = a * w[i, j]` before the loop over `k`, gets
an element for every iteration here, too. Temporaries whose rows are less than `short` have their
own dimensions first: the four gates of a cell are arrays then, not quarters of registers.

With `strip` the sum is one over windows, of which neighbouring rows read the same rows. So many
rows at a time have an array for it, that stays in the cache:

```
for i in seq(0, n):                        for i in seq(0, n / 8):
    for j in seq(0, m):                        t: f32[8, m]
        t: f32                                 for ir in seq(0, 8):
        t = 0.0                                    for j in seq(0, m):
        for r in seq(0, 5):          ->                t[ir, j] = 0.0
            t += g[r] * x[i + r, j]                    for r in seq(0, 5):
        y[i, j] = relu(t)                                  t[ir, j] += g[r] * x[8 * i + ir + r, j]
                                               for ir in seq(0, 8):
                                                   for j in seq(0, m):
                                                       y[8 * i + ir, j] = relu(t[ir, j])
                                           ...  # the last rows
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.ranges import bind_loops, ranges_of_args
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import element_bits, lanes, next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocking import SLIDING_ROWS
from schedsearch.transforms.blocks.grouped_sums import grouped_sum, groups_outside
from schedsearch.transforms.blocks.own_loops import (
    OwnLoops,
    expand,
    expandable,
    in_the_way,
    is_short,
)
from schedsearch.transforms.blocks.reductions import MOST_ROWS, gaps, kept_loops, used_again
from schedsearch.transforms.blocks.scalar_windows import in_strips, scalar_window
from schedsearch.transforms.blocks.terms import without_temporaries
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, Pair, Proposal, Steps
from schedsearch.transforms.operators.outward import changes, loops_around

VERSION = 1
NORMAL_FORM = 1

DIMENSIONS = 2


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    isolated = set[q.Path]()
    for found in _worthwhile(proc):
        isolated.add(found.stmt.path)
        if grouped_sum(proc, found.stmt) is not None:
            yield found.stmt, {"grouped": True}
        width = lanes(target, element_bits((found.stmt,)))
        short = any(is_short(each, width) for each in found.temporaries)
        args: dict[str, ArgValue] = {"short": width} if short else {}
        if _batched(proc, found) is not None:
            yield found.stmt, {**args, "batched": True}
        yield found.stmt, args
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Reduce) and _continued(proc, stmt) is not None:
            yield stmt, {"late": True}
        elif stmt.path not in isolated and scalar_window(proc, stmt) is not None:
            yield stmt, {"strip": SLIDING_ROWS}


def _sums(proc: q.Proc) -> Iterator[OwnLoops]:
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce) or reduction(stmt) is None:
            continue
        direct = without_temporaries(proc, stmt)
        loops = loops_wanted(proc, direct or stmt)
        whole = direct is not None
        temporaries = tuple(in_the_way(stmt, loops[: len(loops) - whole]))
        if temporaries and expandable(temporaries, loops, ranges):
            yield OwnLoops(stmt, loops, whole, temporaries)


def _worthwhile(proc: q.Proc) -> Iterator[OwnLoops]:
    """Those to propose. Earlier traces have others, too."""
    for found in _sums(proc):
        if not any(_used_once(found.stmt, each, found.loops) for each in found.temporaries):
            yield found


def _used_once(stmt: q.Assign | q.Reduce, temporary: q.Alloc, loops: Sequence[q.For]) -> bool:
    """Whether a factor of the sum has another value in each iteration of all its loops."""
    inside = len(temporary.path) > len(loops[-1].path)
    return inside and temporary.buf in q.expr_vars(stmt.rhs)


def _batched(proc: q.Proc, found: OwnLoops) -> OwnLoops | None:
    """A sum with the loops around its own that one of its operands does not depend on, and in which
    something is stored that is as large as its temporaries become; None if there are none."""
    loops = found.loops
    around = loops_around(proc, loops[0], before=inf)
    for loop in takewhile(lambda each: _shares(found.stmt, each), around):
        loops = (loop, *loops)
    temporaries = tuple(in_the_way(found.stmt, loops[: len(loops) - found.whole]))
    if loops == found.loops or not _as_large(loops, temporaries):
        return None
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    if not expandable(temporaries, loops, ranges):
        return None
    return replace(found, loops=loops, temporaries=temporaries)


def _shares(stmt: q.Assign | q.Reduce, loop: q.For) -> bool:
    """Whether all iterations of a loop read one of a sum's arrays alike, and none writes one of
    them, but temporaries of its own."""
    inside = list(q.walk(loop.body))
    local = {each.buf for each in inside if isinstance(each, q.Alloc)}
    written = {each.buf for each in inside if isinstance(each, q.Assign | q.Reduce)}
    given = [each for each in reads(stmt.rhs) if each.idx and each.buf not in local]
    alike = any(loop.iter not in q.expr_vars(each) for each in given)
    return alike and not any(each.buf in written for each in given)


def _as_large(loops: Sequence[q.For], temporaries: Sequence[q.Alloc]) -> bool:
    """Whether something else is stored for every iteration of the loops around the temporaries."""
    deepest = max((len(each.path) for each in temporaries), default=0)
    wanted = {loop.iter for loop in loops if len(loop.path) < deepest}
    local = {each.buf for each in q.walk(loops[0].body) if isinstance(each, q.Alloc)}
    return any(
        isinstance(each, q.Assign | q.Reduce)
        and each.buf not in local
        and wanted <= frozenset().union(*map(q.expr_vars, each.idx))
        for each in q.walk(loops[0].body)
    )


def loops_wanted(proc: q.Proc, stmt: q.Assign | q.Reduce) -> tuple[q.For, ...]:
    """The innermost loops around a sum, or around conditions that it alone depends on, in which
    each operand is used for several elements of a result of two dimensions or more; none if there
    are none. With those around them that the conditions are about, as the rows of an image are."""
    indices = frozenset().union(*map(q.expr_vars, stmt.idx))
    loops: list[q.For] = []
    kept: set[q.Var] = set()
    outside = False
    guard = _guarded(proc, stmt)
    around = list(loops_around(proc, guard, before=inf))
    for number, loop in enumerate(around):
        loops.insert(0, loop)
        outside = outside or any(isinstance(s, q.Alloc) and s.buf == stmt.buf for s in loop.body)
        if outside or loop.iter in indices:
            kept.add(loop.iter)
        if len(kept) >= DIMENSIONS and used_again(stmt, loops, kept):
            return (*_tested(stmt, guard, around[number + 1 :]), *loops)
    return ()


def _tested(stmt: q.Assign | q.Reduce, guard: q.Stmt, around: list[q.For]) -> list[q.For]:
    """The loops around a nest that conditions are about, the outermost first, if they and those
    between have nothing else inside and leave the operands as they are."""
    used = q.expr_vars(stmt.rhs) - {stmt.buf}
    ifs = [each for each in q.walk((guard,)) if isinstance(each, q.If)]
    tested = frozenset().union(*(q.expr_vars(each.cond) for each in ifs))
    alone = list(takewhile(lambda each: len(each.body) == 1 and not changes(each, used), around))
    while alone and alone[-1].iter not in tested:
        alone.pop()
    return alone[::-1]


def _guarded(proc: q.Proc, stmt: q.Stmt) -> q.Stmt:
    """The outermost condition around nothing but the statement; itself if there is none."""
    while len(stmt.path) > 1 and "e" not in stmt.path:
        around = proc.by_path[stmt.path[:-1]]
        if not isinstance(around, q.If) or around.orelse or len(around.body) > 1:
            break
        stmt = around
    return stmt


def _continued(proc: q.Proc, stmt: q.Reduce) -> OwnLoops | None:
    """A sum with all loops around it that it depends on, the outermost first, if what comes after
    it in them assigns to other elements of the result; None if not."""
    indices = frozenset().union(*map(q.expr_vars, stmt.idx))
    loops = [*loops_around(proc, stmt, before=inf)][::-1]
    used = q.expr_vars(stmt.rhs)
    local = [s.buf for loop in loops for s in loop.body if isinstance(s, q.Alloc)]
    while loops and loops[0].iter not in indices | used and not used & {*local}:
        del loops[0]
    after = [s for loop in loops for s in loop.body[int(stmt.path[len(loop.path)]) + 1 :]]
    assigned = [
        s.idx for s in q.walk(tuple(after)) if isinstance(s, q.Assign) and s.buf == stmt.buf
    ]
    others = bool(assigned) and stmt.idx not in assigned
    if not others or len(kept_loops(stmt, loops)) < DIMENSIONS:
        return None
    temporaries = tuple(each for each in in_the_way(stmt, tuple(loops)) if each.buf in used)
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    if not expandable(temporaries, tuple(loops), ranges):
        return None
    worthwhile = used_again(stmt, loops, temporaries=temporaries)
    return OwnLoops(stmt, tuple(loops), False, temporaries) if worthwhile else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    if args.get("late") is True:
        yield from _later(ast, path)
        return
    if args.get("grouped") is True:
        yield from _by_groups(ast, path)
        return
    if "strip" in args:
        yield from _in_strips(ast, path, args["strip"])
        return
    found = next((each for each in _sums(ast) if each.stmt.path == path), None)
    if found is not None and args.get("batched", False) is True:
        found = _batched(ast, found)
    if found is None:
        raise RewriteError("there is no such sum that temporaries keep with others")
    p = Cursors((yield None))
    yield from _take_out(p, found, args.get("short", 0))


def _take_out(p: Cursors, found: OwnLoops, short: ArgValue = 0, begin: bool = False) -> Steps:
    """Split a sum off. Its `begin`, if that is wanted, is the constant before its loops."""
    stmt, loops = p.at(found.stmt.path), [p.at(loop.path) for loop in found.loops]
    yield from expand(p, found, short)
    nest = [loop for loop in map(p.stmt, loops) if isinstance(loop, q.For)]
    nest = nest[: len(nest) - found.whole]
    for gap, lifts in gaps(nest, p.path(stmt)):
        start = shifted(gap, -1) if begin and _begins(p.ast, gap, p.path(stmt)) else gap
        if int(start[-1]) >= 0:
            yield from p.do("fission", After(start), lifts)


def _begins(ast: q.Proc, gap: q.Path, path: q.Path) -> bool:
    """Whether the statement before a gap gives the sum after it a constant to begin with."""
    first, stmt = ast.by_path[gap], ast.by_path[path]
    before = path[: len(gap)] > gap
    return (
        before
        and isinstance(first, q.Assign)
        and isinstance(stmt, q.Reduce)
        and isinstance(first.rhs, q.Const)
        and (first.buf, first.idx) == (stmt.buf, stmt.idx)
    )


def _by_groups(ast: q.Proc, path: q.Path) -> Steps:
    stmt = ast.by_path.get(path)
    found = grouped_sum(ast, stmt) if stmt is not None else None
    if found is None:
        raise RewriteError("there is no sum of groups that is added to another one")
    p = Cursors((yield None))
    moved = p.at(path)
    yield from groups_outside(p, found)
    own = next((each for each in _worthwhile(p.ast) if each.stmt.path == p.path(moved)), None)
    if own is None:
        raise RewriteError("the sum of a group has no temporaries that others need")
    yield from _take_out(p, own, begin=not own.whole)


def _in_strips(ast: q.Proc, path: q.Path, strip: ArgValue) -> Steps:
    stmt = ast.by_path.get(path)
    found = scalar_window(ast, stmt) if stmt is not None else None
    if found is None or type(strip) is not int or not 2 <= strip <= MOST_ROWS:
        raise RewriteError("there is no sum over windows that strips of rows have in common")
    yield from in_strips(Cursors((yield None)), found, strip)


def _later(ast: q.Proc, path: q.Path) -> Steps:
    stmt = ast.by_path.get(path)
    found = _continued(ast, stmt) if isinstance(stmt, q.Reduce) else None
    if found is None:
        raise RewriteError("there is no such sum that its loops go on with")
    p = Cursors((yield None))
    moved = p.at(path)
    yield from expand(p, found)
    for depth in range(len(found.loops)):
        nest = p.path(moved)[: len(path) - depth]
        around = p.ast.by_path[nest[:-1]]
        assert isinstance(around, q.For)
        for _ in range(int(nest[-1]) + 1, len(around.body)):
            yield from p.do("reorder_stmts", Pair(nest))
            nest = next_path(nest)
        if nest[-1]:
            yield from p.do("fission", After(shifted(nest, -1)), 1)
