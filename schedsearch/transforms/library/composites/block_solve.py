"""Solve for the rows of a triangular system, or of a factorisation, in blocks.

```
for i in seq(0, 64):                                for i in seq(0, 4):
    for j in seq(0, i):                                 A_r: f64[16 * i, 16]
        for k in seq(0, j):                             for i0, i1: A_r[i1, i0] = A[...]
            A[i, j] += -A[i, k] * A[k, j]               for j in seq(0, 16 * i):
        A[i, j] = A[i, j] / A[j, j]                         for k in seq(0, j):
    for j in seq(i, 64):                   ->                   for ir in seq(0, 16):
        for k in seq(0, i):                                         A_r[j, ir] += -A_r[k, ir] * ...
            A[i, j] += -A[i, k] * A[k, j]                   for ir in seq(0, 16):
                                                                A_r[j, ir] = A_r[j, ir] / A[j, j]
                                                        for ir in seq(0, 16):
                                                            for j in seq(0, 64 - 16 * i):
                                                                for k in seq(0, 16 * i):
                                                                    ... += -A_r[k, ir] * A[k, ...]
                                                        for i0, i1: A[...] = A_r[i1, i0]
                                                        for ir in seq(0, 16):
                                                            ...  # what rows of the block share
```

For loops over rows whose elements need those before them in the row (`A[i, k]` for `k < j`), in
LU, Cholesky and solves from the right. Rows of a block do so independently up to the block's own
columns, so that their loop goes inside, where it is contiguous in a copy that is turned. That is a
solve from the left then, which `cut_triangle` and register blocks take. Where rows do not need each
other, that is all.

Otherwise the rest of a row, from the block's columns on, first loses what finished rows give it:
steps of sums before the block come before all else. Columns after the block are solved last.

`factor` does not have to divide the rows: what is left is a smaller block, or, if their number is
not known, left as it is (Exo does not cancel `n / 16 * 16` in the indices of its copy).
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.walkers import element_bits, fresh, lanes, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import longest_extent
from schedsearch.transforms.blocks.solved_rows import Block, Solve
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, At, OpArg, Proposal, Steps

VERSION = 1
NORMAL_FORM = 1

MAX_FACTOR = 4096

VECTORS = (2, 3, 1)
"""Registers that the rows of a block fill, the best first."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        if (found := _solve(proc, loop)) is None:
            continue
        width = lanes(target, element_bits(found.along.body))
        factors = [n * width for n in VECTORS if 2 * n * width <= longest_extent(proc, loop)]
        for factor in sorted(factors, key=lambda n: not divides(proc, n, loop.hi, loop.path)):
            yield loop, {"factor": factor}


def _solve(proc: q.Proc, rows: q.For) -> Solve | None:
    if rows.lo != q.Affine(0) or rows.parallel:
        return None
    for along in rows.body:
        if not isinstance(along, q.For) or along.parallel or along.lo != q.Affine(0):
            continue
        arrays = {arg.var: arg for arg in proc.args if arg.shape and not arg.window}
        triangular = along.hi == q.as_affine(rows.iter)
        if not triangular and rows.iter in q.expr_vars(along.hi):
            continue
        for step in along.body:
            array = _summed(rows, along, step)
            if array in arrays and _simple(along):
                return Solve(rows, along, array, triangular)
    return None


def _summed(rows: q.For, along: q.For, step: q.Stmt) -> q.Var | None:
    """The array of which the loop `step` adds elements before `x[i, j]` to that."""
    if not isinstance(step, q.For) or step.hi != q.as_affine(along.iter):
        return None
    if step.lo != q.Affine(0) or len(step.body) != 1:
        return None
    stmt, row = step.body[0], q.as_affine(rows.iter)
    if not isinstance(stmt, q.Reduce) or stmt.idx != (row, q.as_affine(along.iter)):
        return None
    before = (stmt.buf, (row, q.as_affine(step.iter)))
    return stmt.buf if before in [(read.buf, read.idx) for read in reads(stmt.rhs)] else None


def _simple(along: q.For) -> bool:
    """Whether all it does to an element are assignments, and loops of one sum."""
    return all(
        isinstance(stmt, q.Assign | q.Reduce)
        or (isinstance(stmt, q.For) and len(stmt.body) == 1 and isinstance(stmt.body[0], q.Reduce))
        for stmt in along.body
    )


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    rows, factor = ast.by_path[path], args["factor"]
    found = _solve(ast, rows) if isinstance(rows, q.For) else None
    if found is None:
        raise RewriteError("no elements of a row are solved for one after the other here")
    if not (type(factor) is int and 2 <= factor <= MAX_FACTOR):
        raise RewriteError(f"the factor is a number from 2 to {MAX_FACTOR}")
    taken = names(ast)
    block = found.rows.iter.name
    whole = divides(ast, factor, found.rows.hi, path)
    tail: dict[str, OpArg] = {"perfect": True} if whole else {"tail": "cut"}
    p = Cursors((yield None))
    given = (block, fresh(taken, f"{block}r"))
    yield from p.do("divide_loop", At(path), factor, given, **tail)
    starts = [((*path, 0), f"{factor} * {block}", f"{factor} * {block} + {factor}")]
    if not whole and found.rows.hi.is_const:
        end = show_affine(found.rows.hi)
        starts.append((next_path(path), f"({end}) / {factor} * {factor}", end))
    held = [(p.at(at), start, end) for at, start, end in starts]
    for loop, start, end in held:
        yield from Block(p, loop, found, factor, (start, end), taken).solve()
    yield from p.do("simplify")
