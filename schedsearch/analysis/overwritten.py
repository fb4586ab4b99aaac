"""Elements that all iterations of a loop read, and that one of them may overwrite."""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q

Index = tuple[q.Affine, ...]
Element = tuple[q.Var, Index]


@q.per_node
def overwritten(loop: q.For) -> tuple[tuple[q.Affine, Element], ...]:
    """The elements that an innermost loop reads in all iterations, while one may overwrite them,
    each with that iteration: `k` and `D[i, k]` of `for j in seq(0, n): D[i, j] += D[i, k]`.
    Compilers cannot keep them in registers, so they compute one element at a time."""
    if any(map(q.blocks, loop.body)):
        return ()
    body = [stmt for stmt in loop.body if isinstance(stmt, q.Assign | q.Reduce)]
    read = dict.fromkeys((each.buf, each.idx) for stmt in body for each in reads(stmt.rhs))
    found = dict.fromkeys(
        (iteration, (buf, idx))
        for stmt in body
        for buf, idx in read
        if buf == stmt.buf and not any(q.mentions(index, loop.iter) for index in idx)
        for iteration in _meetings(loop, stmt.idx, idx)
    )
    return tuple(found)


def _meetings(loop: q.For, stored: Index, read: Index) -> Iterator[q.Affine]:
    """The iteration that stores the element which is read, if all other indices are equal, and
    unless it is certainly not in the loop."""
    pairs = [pair for pair in zip(stored, read, strict=True) if pair[0] != pair[1]]
    if len(pairs) != 1 or pairs[0][0].coefficient(loop.iter) != 1:
        return
    ((place, fixed),) = pairs
    iteration = fixed - (place - q.as_affine(loop.iter))
    before, after = iteration - loop.lo, iteration - loop.hi
    if q.mentions(iteration, loop.iter) or (before.is_const and before.const < 0):
        return
    if not (after.is_const and after.const >= 0):
        yield iteration
