"""Lay the result of a triangle over its columns out along its rows, and operands with it.

```
for i in seq(0, M):                           B_c: f32[N, M]
    for j in seq(0, N):                       for i0, i1: B_c[i1, i0] = B[i0, i1]
        for k in seq(j + 1, N):               for j in seq(0, N):
            B[i, j] += B[i, k] * A[k, j]  ->      for i in seq(0, M):
                                                      for k in seq(j + 1, N):
                                                          B_c[j, i] += B_c[k, i] * A[k, j]
                                              for i0, i1: B[i0, i1] = B_c[i1, i0]
```

For sums whose contiguous loop has a triangle with the steps of the sum: a product with a triangular
or symmetric matrix from the right. Each column has its own number of steps, so that no vector of
columns is a register. Turned, it is the product from the left: a vector is one of rows, which are
all alike, and `cut_triangle`, `interchange_triangle` and register blocks take it. The copies take
as long as some steps of the sum.

Operands that the loop over rows moves across are turned too. If it comes first, it goes inside.

So are triangles of rows and columns that begin on the diagonal (`for j in seq(i, N)`): turned, they
end there, once `interchange_triangle` has had the loops change places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.analysis.accesses import accesses, reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import first_of_each, fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import CORNERS, MOST_ROWS, longest_extent
from schedsearch.transforms.blocks.terms import moves
from schedsearch.transforms.library.composites.turn_operand import pad
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Memory, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 1

CONTIGUOUS = -1


@dataclass(frozen=True)
class _Window:
    """An array to turn: the dimension of the rows, and its indices in the others but the last."""

    array: q.Var
    rows: int
    idx: tuple[q.Affine, ...]


@dataclass(frozen=True)
class _Across:
    """A sum with a triangle of its columns: the outermost loop of the nest, that over the rows, and
    the arrays to turn, the result first. `alike`: rows are not in the triangle."""

    nest: q.For
    rows: q.For
    alike: bool
    windows: tuple[_Window, ...]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    return ((stmt, {}) for stmt in first_of_each(proc, _across))


def _across(proc: q.Proc, stmt: q.Stmt) -> _Across | None:
    if not isinstance(stmt, q.Reduce) or len(stmt.idx) < 2 or reduction(stmt) is None:
        return None
    loops = tuple(loops_around(proc, stmt, before=inf))[::-1]
    own = frozenset().union(*map(q.expr_vars, stmt.idx))
    columns = [loop for loop in loops if loop.iter in q.expr_vars(stmt.idx[CONTIGUOUS])]
    steps = [loop for loop in loops if loop.iter not in own]
    if len(columns) != 1 or abs(stmt.idx[CONTIGUOUS].coefficient(columns[0].iter)) != 1:
        return None
    shared = any(_triangle(columns[0], step) for step in steps)
    for rows in loops:
        dims = [dim for dim in range(len(stmt.idx) - 1) if moves(stmt.idx, rows, dim)]
        alike = shared and _free(rows, loops)
        if dims and (alike or _above(rows, columns[0], loops)):
            nest = next(loop for loop in loops if loop in (*columns, *steps, rows))
            result = _Window(stmt.buf, dims[0], _others(stmt.idx, dims[0]))
            found = _Across(nest, rows, alike, (result, *_operands(stmt.buf, nest, rows)))
            long = all(longest_extent(proc, loop) >= 2 * MOST_ROWS for loop in (rows, *columns))
            if long and _turnable(proc, found):
                return found
    return None


def _free(rows: q.For, loops: Iterable[q.For]) -> bool:
    """Whether the loop over rows could be any of the loops."""
    ends = [(loop.lo, loop.hi) for loop in loops]
    bounds = frozenset().union(*(q.expr_vars(end) for pair in ends for end in pair))
    own = q.expr_vars(rows.lo) | q.expr_vars(rows.hi)
    return rows.lo == q.Affine(0) and rows.iter not in bounds and not _iters(loops) & own


def _above(rows: q.For, columns: q.For, loops: Iterable[q.For]) -> bool:
    """Whether a row has the columns from the diagonal on, and no other loop depends on the two."""
    if rows.lo != q.Affine(0) or columns.lo - q.as_affine(rows.iter) not in CORNERS:
        return False
    others = [end for x in loops if x is not columns for end in (x.lo, x.hi)]
    used = frozenset().union(*map(q.expr_vars, others))
    return columns.hi == rows.hi and not {rows.iter, columns.iter} & used


def _iters(loops: Iterable[q.For]) -> set[q.Var]:
    return {loop.iter for loop in loops}


def _triangle(one: q.For, other: q.For) -> bool:
    """Whether one of two loops ends or begins at the other's variable."""
    return any(
        abs(end.coefficient(outer.iter)) == 1
        for outer, inner in ((one, other), (other, one))
        for end in (inner.lo, inner.hi)
    )


def _others(idx: tuple[q.Affine, ...], rows: int) -> tuple[q.Affine, ...]:
    return tuple(index for dim, index in enumerate(idx[:CONTIGUOUS]) if dim != rows)


def _operands(result: q.Var, nest: q.For, rows: q.For) -> Iterator[_Window]:
    """Other arrays in sums of the result that the loop over rows moves along a dimension which is
    not the last."""
    seen = {result}
    for stmt in q.walk((nest,)):
        if not isinstance(stmt, q.Reduce) or stmt.buf != result:
            continue
        for read in reads(stmt.rhs):
            dims = [dim for dim in range(len(read.idx) - 1) if moves(read.idx, rows, dim)]
            if dims and read.buf not in seen:
                seen.add(read.buf)
                yield _Window(read.buf, dims[0], _others(read.idx, dims[0]))


def _turnable(proc: q.Proc, found: _Across) -> bool:
    """Whether arrays are of the procedure, and the nest accesses no other part of them."""
    arrays = declared(proc)
    inside = _iters(loop for loop in q.walk((found.nest,)) if isinstance(loop, q.For))
    local = {stmt.buf for stmt in q.walk((found.nest,)) if isinstance(stmt, q.Alloc)}
    for window in found.windows:
        array = arrays.get(window.array)
        if array is None or array.window or not array.dense or window.array in local:
            return False
        if not array.mem.startswith("DRAM"):
            return False
        if any(inside & q.expr_vars(index) for index in window.idx):
            return False
        parts = {
            _others(each.idx, window.rows)
            for each in accesses((found.nest,))
            if each.buf == window.array
        }
        if parts != {window.idx}:
            return False
    return True


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    found = _across(ast, stmt) if stmt is not None else None
    if found is None:
        raise RewriteError("there is no sum over a triangle with the columns of its result")
    p = Cursors((yield None))
    nest, rows, taken = p.at(found.nest.path), p.at(found.rows.path), names(ast)
    for window in found.windows:
        array = declared(ast)[window.array]
        whole = [f"0 : {show_affine(extent)}" for extent in array.shape]
        others = iter(window.idx)
        text = ", ".join(
            whole[dim] if dim in (window.rows, len(whole) - 1) else show_affine(next(others))
            for dim in range(len(whole))
        )
        name, start = fresh(taken, f"{window.array.name}_c"), p.path(nest)
        yield from p.do("stage_mem", nest, f"{window.array.name}[{text}]", name)
        copy = p.at(start)
        yield from p.do("rearrange_dim", copy, (1, 0))
        element_bytes = ELEMENT_BITS[array.type] // 8
        yield from pad(p.path(copy), 1, array.shape[window.rows], element_bytes, lines=True)
        p.procedure = yield None
        yield from p.do("set_memory", copy, Memory("DRAM_ALIGNED"))
    if found.alike:
        yield from _inside(p, rows)


def _inside(p: Cursors, held: Cursor) -> Steps:
    """Move the loop over rows into the loops that it contains, as far as nothing is beside them."""
    loop = p.stmt(held)
    assert isinstance(loop, q.For)
    for position in reversed(range(len(loop.body) - 1)):
        yield from p.do("fission", After((*p.path(held), position)))
    start = p.path(held)
    for _ in loop.body:
        at = start
        while isinstance(_alone(p.ast.by_path[at]), q.For):
            yield from p.do("reorder_loops", At(at))
            at = (*at, 0)
        start = next_path(start)


def _alone(loop: q.Stmt) -> q.Stmt | None:
    """All that a loop does, if that is one statement."""
    return loop.body[0] if isinstance(loop, q.For) and len(loop.body) == 1 else None
