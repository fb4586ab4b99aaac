"""Loops that go backwards through memory, as loops that go forwards through its mirror image.

Exo counts up only, so that a sweep from the end is written `y[n - 2 - j] = a * y[n - 1 - j]`. With
all its indices negated that is a recurrence like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q

Place = Callable[[q.Var, tuple[q.Affine, ...]], tuple[q.Affine, ...]]


def mirrored(loop: q.For) -> q.For | None:
    """The loop with the last index negated of all arrays that it moves through, if it goes
    backwards through all of them, by one element."""
    stmts = [stmt for stmt in loop.body if isinstance(stmt, q.Assign | q.Reduce)]
    steps: dict[q.Var, set[int | None]] = {}
    for stmt in stmts:
        for buf, idx in [(stmt.buf, stmt.idx), *((r.buf, r.idx) for r in reads(stmt.rhs))]:
            steps.setdefault(buf, set()).add(_step(idx, loop.iter))
    if len(stmts) < len([stmt for stmt in loop.body if not isinstance(stmt, q.Alloc)]):
        return None
    moved = {buf for buf, found in steps.items() if found != {0}}
    if not moved or any(steps[buf] != {-1} for buf in moved):
        return None

    def turned(buf: q.Var, idx: tuple[q.Affine, ...]) -> tuple[q.Affine, ...]:
        return (*idx[:-1], idx[-1].scaled(-1)) if buf in moved else idx

    return replace(loop, body=tuple(with_places(stmt, turned) for stmt in loop.body))


def _step(idx: tuple[q.Affine, ...], along: q.Var) -> int | None:
    """Elements by which an access moves in each iteration; None if it is no neighbour."""
    if not any(along in q.expr_vars(index) for index in idx):
        return 0
    *outer, last = idx
    step = last.coefficient(along)
    rest = (*outer, last - q.as_affine(along).scaled(step))
    return None if any(along in q.expr_vars(index) for index in rest) else step


def with_places(stmt: q.Stmt, place: Place) -> q.Stmt:
    """A statement with other indices."""
    if not isinstance(stmt, q.Assign | q.Reduce):
        return stmt
    value = q.with_reads(stmt.rhs, lambda read: replace(read, idx=place(read.buf, read.idx)))
    return replace(stmt, idx=place(stmt.buf, stmt.idx), rhs=value)
