"""Eliminate in blocks of steps: what follows a block loses all of them at once.

```
for k in seq(0, 64):                            for k in seq(0, 4):
    for i in seq(k + 1, 64):                        A_l: f32[16, 64 - 16 * k]
        A[i, k] = A[i, k] / A[k, k]                 for i0, i1: A_l[i1, i0] = A[...]
        for j in seq(k + 1, 64):                    for kr in seq(0, 16):
            A[i, j] += -A[i, k] * A[k, j]               ...  # columns of the block, in A_l
                                            ->      for kr in seq(0, 16):
                                                        ...  # the rest of the block's rows
                                                    for kr in seq(0, 16):
                                                        for i in seq(0, 48 - 16 * k):
                                                            for j in seq(0, 48 - 16 * k):
                                                                A[...] += -A_l[kr, ...] * A[...]
                                                    for i0, i1: A[...] = A_l[i1, i0]
```

For factorisations in the order of elimination (LU, right-looking): every step subtracts a product
of a column and a row from all that follows. Steps of a block need columns of the block alone, then
its rows; the rest is a sum of products over the block's steps, which register blocks take. A copy
of the columns is turned, so that vectors run down them. Exo proves all of it.

`factor` does not have to divide the steps: those left stay as they are, with little to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.walkers import element_bits, fresh, lanes, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import longest_extent
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import (
    After,
    Args,
    At,
    Memory,
    OpArg,
    Proposal,
    Span,
    Steps,
)

VERSION = 1
NORMAL_FORM = 1

MAX_FACTOR = 4096


@dataclass(frozen=True)
class _Elimination:
    """The loop over steps, those over rows and columns of what follows, and the array."""

    step: q.For
    rows: q.For
    columns: q.For
    array: q.Var


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if _elimination(proc, loop) is None:
            continue
        width = lanes(target, element_bits(loop.body))
        for factor in (width, 2 * width):
            if 2 * factor <= longest_extent(proc, loop):
                yield loop, {"factor": factor}


def _elimination(proc: q.Proc, step: q.For) -> _Elimination | None:
    if step.lo != q.Affine(0) or step.parallel:
        return None
    arrays = {buf for buf, array in declared(proc).items() if array.dense and not array.window}
    for outer in step.body:
        inner = outer.body[-1] if isinstance(outer, q.For) else None
        if not isinstance(outer, q.For) or not isinstance(inner, q.For) or len(inner.body) > 1:
            continue
        for rows, columns in ((outer, inner), (inner, outer)):
            if all(_follows(step, loop, (rows, columns)) for loop in (rows, columns)):
                array = _updated(step, rows, columns, inner.body[0])
                if array in arrays:
                    return _Elimination(step, rows, columns, array)
    return None


def _follows(step: q.For, loop: q.For, both: tuple[q.For, ...]) -> bool:
    """Whether a loop begins after the step, and ends where no step decides."""
    inside = {step.iter, *(each.iter for each in both)}
    after = q.as_affine(step.iter) + q.Affine(1)
    return loop.lo == after and not inside & q.expr_vars(loop.hi) and not loop.parallel


def _updated(step: q.For, rows: q.For, columns: q.For, stmt: q.Stmt) -> q.Var | None:
    """The array of which `stmt` adds a product of the step's column and row to an element."""
    k, i, j = (q.as_affine(loop.iter) for loop in (step, rows, columns))
    if not isinstance(stmt, q.Reduce) or stmt.idx != (i, j):
        return None
    read = {(each.buf, each.idx) for each in reads(stmt.rhs)}
    return stmt.buf if {(stmt.buf, (i, k)), (stmt.buf, (k, j))} <= read else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop, factor = ast.by_path.get(path), args["factor"]
    found = _elimination(ast, loop) if isinstance(loop, q.For) else None
    if found is None:
        raise RewriteError("no steps subtract a column times a row from all that follows here")
    if not (type(factor) is int and 2 <= factor <= MAX_FACTOR):
        raise RewriteError(f"the factor is a number from 2 to {MAX_FACTOR}")
    p, taken = Cursors((yield None)), names(ast)
    block = found.step.iter.name
    start, end = f"{factor} * {block}", f"{factor} * {block} + {factor}"
    columns = p.at(found.columns.path)
    outermost = len(found.columns.path) < len(found.rows.path)
    position = int(found.columns.path[len(path)])
    whole = divides(ast, factor, found.step.hi, path)
    tail: dict[str, OpArg] = {"perfect": True} if whole else {"tail": "cut"}
    within = fresh(taken, f"{block}r")
    yield from p.do("divide_loop", At(path), factor, (block, within), **tail)
    # The columns after the block, and of these the rows after it, get nests of their own.
    first = (*path, 0)
    yield from p.do("cut_loop", columns, end)
    if not outermost:
        yield from p.do("fission", After(p.path(columns)))
    after = (*first, position + 1)
    rows = p.at((*after, 0) if outermost else after)
    yield from p.do("cut_loop", rows, end)
    if outermost:
        yield from p.do("fission", After(p.path(rows)))
    for place in (position + 1, position):
        yield from p.do("fission", After((*first, place)))
    # Vectors run down the block's columns, which are turned, and along the rest of its rows.
    second = next_path(first)
    if outermost:
        yield from p.do("reorder_loops", At((*second, 0)))
    else:
        inner, panel = int(found.columns.path[-1]), (*first, position)
        if inner:
            yield from p.do("fission", After((*panel, inner - 1)))
            panel = next_path(panel)
        yield from p.do("reorder_loops", At(panel))
    for depth in (1, 2):
        yield from p.do("shift_loop", At((*next_path(second), *(0,) * depth)), 0)
    yield from _turn(p, found, first, (start, end), taken)
    yield from p.do("simplify")


def _turn(
    p: Cursors, found: _Elimination, first: q.Path, ends: tuple[str, str], taken: frozenset[str]
) -> Steps:
    """Stage the block's columns around the three nests at `first`, each as a row."""
    start, end = ends
    array = found.array.name
    window = f"{array}[{start}:{show_affine(found.rows.hi)}, {start}:{end}]"
    yield from p.do("stage_mem", Span(first, 3), window, fresh(taken, f"{array}_l"))
    yield from p.do("rearrange_dim", At(first), (1, 0))
    yield from p.do("set_memory", At(first), Memory("DRAM_ALIGNED"))
