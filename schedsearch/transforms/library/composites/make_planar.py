"""Lay interleaved values out in planes, as a sum of products needs them.

```
for i in seq(0, M):                               B_p: f32[2, K, N]
    for j in seq(0, N):                           for i0, i1, i2: B_p[i2, i0, i1] = B[i0, i1, i2]
        for k in seq(0, K):                       ...  # and C_p
            C[i, j, 0] += A[i, k, 0] * B[k, j, 0] for i in seq(0, M):
            C[i, j, 1] += A[i, k, 1] * B[k, j, 0]     for j in seq(0, N):
                                              ->          for k in seq(0, K):
                                                              C_p[0, i, j] += ... * B_p[0, k, j]
                                                              C_p[1, i, j] += ... * B_p[0, k, j]
                                                  for i0, i1, i2: C[i0, i1, i2] = C_p[i2, i0, i1]
```

For products of complex numbers, of pixels, of any values that are stored part after part:
neighbours of one part are not next to each other, so that no vector of them is loaded at once. In
planes they are, and each sum gets a register block. The result and what moves with its columns are
laid out so, once before the nest; the copies take as long as some steps of the sum.

Proposed where each of two operands is used for several elements of the result: other sums take as
long as their loads. Other innermost loops get planes of all that moves with them (positions of
bodies that attract each other), if a loop around goes through the same values again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.analysis.accesses import accesses, reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import first_of_each, fresh, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import used_again
from schedsearch.transforms.blocks.terms import in_one_type, moves
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Memory, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 1

MOST_PARTS = 8
"""Of a value: with more of them, loops over the parts are what fills vectors."""

COLUMNS = -2


LEAST_TIMES = 8
"""That values are gone through: the copies take about as long as one time."""


@dataclass(frozen=True)
class _Interleaved:
    """The outermost loop of a sum, or of what goes through values again, and the arrays to lay out
    in planes, the result first."""

    nest: q.For
    arrays: tuple[q.Var, ...]


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    return ((stmt, {}) for stmt in first_of_each(proc, _interleaved))


def _interleaved(proc: q.Proc, stmt: q.Stmt) -> _Interleaved | None:
    return _passed(proc, stmt) if isinstance(stmt, q.For) else _of_a_sum(proc, stmt)


def _passed(proc: q.Proc, loop: q.For) -> _Interleaved | None:
    """Values that an innermost loop goes along, if one around it does so again."""
    if not all(isinstance(stmt, q.Assign | q.Reduce | q.Alloc) for stmt in loop.body):
        return None
    used = [(each, frozenset().union(*map(q.expr_vars, each.idx))) for each in accesses(loop.body)]
    moving = [each for each, variables in used if loop.iter in variables]
    parts = [each for each in moving if not moves(each.idx, loop, len(each.idx) - 1)]
    if not parts or not all(moves(each.idx, loop, len(each.idx) + COLUMNS) for each in parts):
        return None  # other ways to go along a loop have no vectors either
    depends = frozenset().union(*(variables for each, variables in used if each in parts))
    again = [each for each in loops_around(proc, loop, before=inf) if each.iter not in depends]
    if not again or (again[-1].extent or LEAST_TIMES) < LEAST_TIMES:
        return None
    arrays = tuple(dict.fromkeys(each.buf for each in parts))
    whole = all(_in_parts(proc, again[-1], buf) for buf in arrays)
    return _Interleaved(again[-1], arrays) if whole else None


def _of_a_sum(proc: q.Proc, stmt: q.Stmt) -> _Interleaved | None:
    if not isinstance(stmt, q.Assign | q.Reduce) or reduction(stmt) is None or len(stmt.idx) < 2:
        return None
    if not in_one_type(stmt):
        return None  # no block would follow
    loops = tuple(loops_around(proc, stmt, before=inf))[::-1]
    used = frozenset().union(*map(q.expr_vars, stmt.idx)) | q.expr_vars(stmt.rhs)
    loops = tuple(loop for loop in loops if loop.iter in used)
    columns = [loop for loop in loops if moves(stmt.idx, loop, len(stmt.idx) + COLUMNS)]
    if not columns or not used_again(stmt, loops):
        return None
    nest = loops[0]
    wanted = [stmt.buf]
    for read in reads(stmt.rhs):
        along = len(read.idx) > 1 and moves(read.idx, columns[0], len(read.idx) + COLUMNS)
        if along and read.buf not in wanted and _in_parts(proc, nest, read.buf):
            wanted.append(read.buf)
    return _Interleaved(nest, tuple(wanted)) if _in_parts(proc, nest, stmt.buf) else None


def _in_parts(proc: q.Proc, nest: q.For, buf: q.Var) -> bool:
    """Whether all that the nest accesses of an array from outside are given parts of its values."""
    array = declared(proc).get(buf)
    if array is None or array.window or not array.dense or not array.mem.startswith("DRAM"):
        return False
    if len(array.shape) < 2 or not array.shape[-1].is_const:
        return False
    if any(isinstance(stmt, q.Alloc) and stmt.buf == buf for stmt in q.walk((nest,))):
        return False
    last = [each.idx[-1:] for each in accesses((nest,)) if each.buf == buf]
    return 2 <= array.shape[-1].const <= MOST_PARTS and all(idx and idx[0].is_const for idx in last)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    found = _interleaved(ast, stmt) if stmt is not None else None
    if found is None:
        raise RewriteError("there are no interleaved values that are used again")
    p = Cursors((yield None))
    nest, taken = p.at(found.nest.path), names(ast)
    for buf in found.arrays:
        shape = declared(ast)[buf].shape
        window = ", ".join(f"0 : {show_affine(extent)}" for extent in shape)
        start = p.path(nest)
        yield from p.do("stage_mem", nest, f"{buf.name}[{window}]", fresh(taken, f"{buf.name}_p"))
        copy = p.at(start)
        last = len(shape) - 1
        yield from p.do("rearrange_dim", copy, (last, *range(last)))
        yield from p.do("set_memory", copy, Memory("DRAM_ALIGNED"))
