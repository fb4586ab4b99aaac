"""Divide a loop over rows into strips, in which each of its parts has a loop of its own.

```
for i in seq(0, 64):                   for i in seq(0, 4):
    t: f32                                 t: f32[16]
    t = 0.0                                for ir in seq(0, 16):
    for j in seq(0, n):                        t[ir] = 0.0
        t += A[i, j] * x[j]                for ir in seq(0, 16):
    for j in seq(0, n):          ->            for j in seq(0, n):
        y[j] += t * A[i, j]                        t[ir] += A[16 * i + ir, j] * x[j]
                                           for ir in seq(0, 16):
                                               for j in seq(0, n):
                                                   y[j] += t[ir] * A[16 * i + ir, j]
```

For rows that are summed up and then, times what came of that, added to one result: `A^T (A x)`, and
the gradients of linear models. A strip of rows stays in the cache between both, its sums are
independent of each other, and a tile of the result stays in registers for all of it. Known as strip
mining and loop distribution. Rows that the strip does not divide stay as they are.

So are short rows with sums of their own, which are added up together then (`vectorise_reduction`),
and what comes of the sums is computed in registers:

```
for i in seq(0, n):                    for i in seq(0, n / 16):
    t: f32                                 t: f32[16]
    t = 0.0                                for ir in seq(0, 16):
    for j in seq(0, 48):                       t[ir] = 0.0
        t += A[i, j] * B[i, j]   ->        for ir in seq(0, 16):
    s[i] = sqrt(t)                             for j in seq(0, 48):
                                                   t[ir] += A[16 * i + ir, j] * B[16 * i + ir, j]
                                           for ir in seq(0, 16):
                                               s[16 * i + ir] = sqrt(t[ir])
                                       ...
```

With `diagonal` the rows of a triangle are summed up together, and its columns in the same pass, as
far as the corner that each strip has at the diagonal:

```
for i in seq(0, 64):                       for i in seq(0, 8):
    for j in seq(0, i):                        x_rows: f32[8]  # of x
        y[i] += A[i, j] * x[j]     ->          y_rows: f32[8]  # 0.0
        y[j] += A[i, j] * x[i]                 for ir in seq(0, 8):
                                                   for j in seq(0, 8 * i):
                                                       y_rows[ir] += A[8 * i + ir, j] * x[j]
                                                       y[j] += A[8 * i + ir, j] * x_rows[ir]
                                               ...  # y += y_rows
                                               for ir in seq(0, 8):
                                                   for j in seq(8 * i, 8 * i + ir):
                                                       ...
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from math import inf

from schedsearch.analysis.accesses import accesses
from schedsearch.analysis.walkers import element_bits, fresh, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.jam import jammable
from schedsearch.transforms.blocks.one_pass import (
    STRIP,
    split_parts,
    strip_steps,
    stripped,
    triangle,
)
from schedsearch.transforms.blocks.reductions import reduction_nests, used_again
from schedsearch.transforms.blocks.short_rows import sums_short_rows
from schedsearch.transforms.library.composites.stage_sums import adds_beside
from schedsearch.transforms.library.composites.stage_sums import steps as stage_sums
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Args, Memory, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 3

STRIPS = (32, 16, 8)
STRIP_BYTES = 1 << 15
"""Of rows that stay in the cache. Rows of unknown length are taken for some hundred elements."""
UNKNOWN = 512

MAX_STRIP = 1024

SIDE_BY_SIDE = 16
"""Rows of a strip that are summed up together."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if stripped(proc, loop, target):
            yield loop, {"rows": STRIP, "diagonal": True}
        enough = loop.extent is None or loop.extent >= 2 * SIDE_BY_SIDE
        if enough and sums_short_rows(loop) and not _contracts(proc, loop):
            yield loop, {"rows": SIDE_BY_SIDE}
        if not _used_twice(loop):
            continue
        inner = [each for each in loop.body if isinstance(each, q.For)]
        longest = max(each.extent or UNKNOWN for each in inner)
        row = longest * element_bits(loop.body) // 8
        strip = next((n for n in STRIPS if n * row <= STRIP_BYTES), STRIPS[-1])
        if loop.extent is None or loop.extent >= 2 * strip:
            yield loop, {"rows": strip}


def _contracts(proc: q.Proc, loop: q.For) -> bool:
    """Whether the sums are of a product that has blocks: these do more for it."""
    for nest in reduction_nests(proc):
        if nest.stmt.path[: len(loop.path)] == loop.path:
            around = loops_around(proc, nest.stmt, before=inf)
            blocked = takewhile(lambda each: each.lo == q.Affine(0), around)
            if used_again(nest.stmt, [each for each in blocked if each.extent != 1]):
                return True
    return False


def _used_twice(loop: q.For) -> bool:
    """Whether rows of one array are summed up to a scalar, and then added to one result."""
    if not jammable(loop) or loop.lo != q.Affine(0):
        return False
    inner = [each for each in loop.body if isinstance(each, q.For)]
    local = {each.buf for each in loop.body if isinstance(each, q.Alloc) and not each.shape}
    summed, added = set[q.Var](), set[q.Var]()
    for each in inner:
        rows = {x.buf for x in accesses(each.body) if x.idx and _moves(x.idx, loop, each)}
        for stmt in each.body:
            if not isinstance(stmt, q.Reduce):
                continue
            if stmt.buf in local:
                summed |= rows
            elif each.iter in q.expr_vars(stmt.idx[-1] if stmt.idx else q.Affine(0)):
                moved = frozenset().union(*map(q.expr_vars, stmt.idx))
                added |= rows & summed if loop.iter not in moved else set()
    return bool(added)


def _moves(idx: tuple[q.Affine, ...], rows: q.For, along: q.For) -> bool:
    used = frozenset().union(*map(q.expr_vars, idx))
    return {rows.iter, along.iter} <= used


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, strip = ast.by_path.get(path), args["rows"]
    if type(strip) is not int or not 2 <= strip <= MAX_STRIP:
        raise RewriteError(f"a strip has from 2 to {MAX_STRIP} rows")
    if isinstance(loop, q.For) and loop.extent is not None and loop.extent < strip:
        raise RewriteError(f"the loop has only {loop.extent} iterations")
    if args.get("diagonal", False) is True:
        found = triangle(ast, loop) if isinstance(loop, q.For) else None
        if found is None:
            raise RewriteError("there is no triangle whose rows and columns are summed in one pass")
        yield from strip_steps(ast, found, strip)
        p = Cursors((yield None))
        while each := next(_adding(p.ast, path), None):
            yield from stage_sums(p.ast, each.path, {})
            p = Cursors((yield None))
        return
    if not isinstance(loop, q.For) or not (_used_twice(loop) or sums_short_rows(loop)):
        raise RewriteError("there are no rows that are summed up and then added")
    p = Cursors((yield None))
    rows = p.at(path)
    if not divides(ast, strip, loop.hi, path):
        yield from p.do("cut_loop", rows, f"{strip} * (({show_affine(loop.hi)}) / {strip})")
    new = (loop.iter.name, fresh(names(ast), f"{loop.iter.name}r"))
    yield from p.do("divide_loop", rows, strip, new, perfect=True)
    inside = p.at(p.path(rows, 0))
    yield from _private(p, inside, strip)
    yield from split_parts(p, inside)
    yield from p.do("simplify")


def _adding(ast: q.Proc, path: q.Path) -> Iterator[q.For]:
    """Loops of the strips at a path, and of the rows left behind, that add beside other elements:
    in a corner, for one."""
    for loop in loops(ast):
        if loop.path[: len(path)] in (path, next_path(path)) and adds_beside(ast, loop):
            yield loop


def _private(p: Cursors, rows: Cursor, strip: int) -> Steps:
    """Give each row of a strip temporaries of its own."""
    while True:
        loop = p.stmt(rows)
        assert isinstance(loop, q.For)
        found = next((each for each in loop.body if isinstance(each, q.Alloc)), None)
        if found is None:
            return
        alloc = p.at(found.path)
        yield from p.do("expand_dim", alloc, strip, loop.iter.name)
        yield from p.do("lift_alloc", alloc)
        if found.mem == "DRAM" and not found.shape:  # of rows there may be too many for a stack
            yield from p.do("set_memory", alloc, Memory("DRAM_STACK_ALIGNED"))
