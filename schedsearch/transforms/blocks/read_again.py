"""Rows that a nest reads several times, so that a later pass finds them in the first cache."""

from __future__ import annotations

from math import prod

from schedsearch.analysis.accesses import reads, touched
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.ranges import loops_at
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.records import Target


def read_again(proc: q.Proc, loop: q.For) -> list[q.Var]:
    """Arrays of which `loop` goes along a row of an iteration around it, after a statement before
    it has read the same row."""
    *around, at = loop.path
    outer = {each.iter for each in loops_at(proc, tuple(around))}
    before = [proc.by_path.get((*around, n)) for n in range(int(at))]
    seen = [each for stmt in before if stmt is not None for each in q.walk((stmt,))]
    rows = {
        read.buf: read.idx[:-1]
        for stmt in loop.body
        if isinstance(stmt, q.Assign | q.Reduce)
        for read in reads(stmt.rhs)
        if read.idx and loop.iter in q.expr_vars(read.idx[-1])
    }
    return [
        buf
        for buf, row in rows.items()
        if row
        and outer & frozenset().union(*map(q.expr_vars, row))
        and any(
            other == buf and len(idx) > 1 and tuple(map(_first, idx[:-1])) == row
            for stmt in seen
            for other, idx, _ in touched(stmt)
            if idx and (isinstance(idx[-1], q.Interval) or q.expr_vars(idx[-1]) - outer)
        )
    ]


def _first(part: q.Interval | q.Affine) -> q.Affine:
    return part.lo if isinstance(part, q.Interval) else part


def beyond_own_caches(proc: q.Proc, buf: q.Var, target: Target) -> bool:
    """Whether an array is certainly larger than the caches that a core has of its own."""
    array = declared(proc)[buf]
    if not all(extent.is_const for extent in array.shape):
        return False
    size = prod(extent.const for extent in array.shape) * ELEMENT_BITS[array.type] // 8
    return size > max((0, *target.cache_bytes[:-1]))
