"""Loops that can be skewed: which rows may run side by side, and how far apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.conditions import at_most_zero, negated
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.records import Target
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Pair, Steps

NEAR = 4
"""An iteration that reads what so many before it stored waits for that; farther ones fill a
vector, or are done by then."""


@dataclass(frozen=True)
class Rows:
    """A loop whose body is loops along `x`, the rows: one or more nests.

    Row number `s` of iteration `o` is the `len(nests) * o + s`th of all.
    """

    outer: q.For
    nests: tuple[q.For, ...]

    @property
    def scalar(self) -> bool:
        """Whether rows have no loops inside."""
        return not any(map(q.blocks, (stmt for nest in self.nests for stmt in nest.body)))


@dataclass(frozen=True)
class Distance:
    """Two accesses of one element, the second `rows` rows later and `steps` steps further along;
    `flow`: whether it reads what the first wrote."""

    rows: int
    steps: int
    flow: bool

    @property
    def lag(self) -> int:
        """The least lag of each row behind the one before that keeps the order."""
        return -(self.steps // self.rows)

    @property
    def apart(self) -> int:
        """The least lag for which the second is not in the same step as the first."""
        return -(-(1 - self.steps) // self.rows)


def rows_of(stmt: q.Stmt | None, before: int = 0) -> Rows | None:
    """The rows of a loop, if all of its body after the first statements are rows of the same length
    in every iteration."""
    if not isinstance(stmt, q.For) or stmt.parallel:
        return None
    nests = tuple(
        each for each in stmt.body[before:] if isinstance(each, q.For) and not each.parallel
    )
    if not nests or len(nests) < len(stmt.body) - before:
        return None
    if any(stmt.iter in q.expr_vars(nest.lo) | q.expr_vars(nest.hi) for nest in nests):
        return None
    return Rows(stmt, nests)


def steady(rows: Rows, count: int, lag: int) -> tuple[q.Affine, q.Affine] | None:
    """Where all rows of `count` iterations are, each `lag` steps behind the one before; None if
    their bounds differ by more than constants."""
    nests = rows.nests
    first = (count - 1) * len(nests)
    starts = [nest.lo + lag * (first + s) for s, nest in enumerate(nests)]
    ends = [nest.hi + lag * s for s, nest in enumerate(nests)]
    if any(not (each - bounds[0]).is_const for bounds in (starts, ends) for each in bounds):
        return None
    return max(starts, key=lambda at: at.const), min(ends, key=lambda at: at.const)


def may_be_long(proc: q.Proc, path: q.Path, length: q.Affine, least: int = 1) -> bool:
    """Whether `length` can be `least` or more at `path`: not in the `else` of a condition that says
    so."""
    if length.is_const:
        return length.const >= least
    ends = (each for cond in negated(proc, path) for each in at_most_zero(cond))
    return not any((length - each).is_const and (length - each).const < least for each in ends)


def distances(rows: Rows) -> list[Distance] | None:
    """Between accesses of the same elements, one of which writes. Of those that are repeated from
    row to row the nearest. None if they are not known. What is only added to has any order."""
    own = {stmt.buf for stmt in q.walk(rows.nests) if isinstance(stmt, q.Alloc)}
    found = dict.fromkeys(
        (number, access)
        for number, nest in enumerate(rows.nests)
        for access in accesses(nest.body)
        if access.buf not in own
    )
    written = {access.buf for _, access in found if access.writes} - _only_added_to(rows.nests)
    shared = [(number, access) for number, access in found if access.buf in written]
    result: list[Distance] = []
    for (s, first), (t, second) in product(shared, repeat=2):
        if first.buf == second.buf and (first.writes or second.writes):
            between = _between(rows, (s, first), (t, second))
            if between is None:
                return None
            result += between
    return result


def _only_added_to(body: tuple[q.Stmt, ...]) -> set[q.Var]:
    sums = {stmt.buf for stmt in q.walk(body) if isinstance(stmt, q.Reduce)}
    for stmt in q.walk(body):
        used = q.used_vars((stmt,)) if isinstance(stmt, q.Call | q.WindowStmt) else set()
        if isinstance(stmt, q.Assign):
            used = {stmt.buf}
        sums -= used
    return sums - {access.buf for access in accesses(body) if not access.writes}


def _between(
    rows: Rows, one: tuple[int, Access], other: tuple[int, Access]
) -> list[Distance] | None:
    """The second access in the same row, and in the nearest later one."""
    (s, first), (t, second) = one, other
    outer, count = rows.outer.iter, len(rows.nests)
    along, further = rows.nests[s].iter, rows.nests[t].iter
    steps: int | None = None
    later: int | None = None
    if len(first.idx) != len(second.idx) or not first.idx:
        return None
    for a, b in zip(first.idx, second.idx, strict=True):
        rest = a - q.as_affine(along) - (b - q.as_affine(further))
        if a.coefficient(along) == b.coefficient(further) == 1 and rest.is_const:
            steps = rest.const
        elif along in q.expr_vars(a) or further in q.expr_vars(b):
            return None
        elif (a - b).is_const and (moved := a.coefficient(outer)):
            if (a - b).const % moved:
                return []
            later = (a - b).const // moved
    if steps is None:
        return None
    flow = first.writes and not second.writes
    if later is not None:
        behind = count * later + t - s
        return [Distance(behind, steps, flow)] if behind >= 0 else []
    nearest = [t - s, t - s + count] if t >= s else [t - s + count]
    return [Distance(behind, steps, flow) for behind in nearest]


def cached(proc: q.Proc, target: Target, body: tuple[q.Stmt, ...]) -> bool:
    """Whether the arrays of `body` fit the second cache."""
    shapes, total = declared(proc), 0
    for buf in {access.buf for access in accesses(body) if access.idx}:
        array = shapes.get(buf)  # there is none of a window
        if array is None or not all(extent.is_const for extent in array.shape):
            return False
        total += prod(extent.const for extent in array.shape) * ELEMENT_BITS[array.type] // 8
    return total <= max(target.cache_bytes[:2], default=0)


def gather(p: Cursors, parts: list[Cursor]) -> Steps:
    """Move statements of one block up, behind the first of them."""
    for number, part in enumerate(parts[1:], 1):
        while p.path(part) != (*(at := p.path(parts[0]))[:-1], int(at[-1]) + number):
            before = p.path(part)
            yield from p.do("reorder_stmts", Pair((*before[:-1], int(before[-1]) - 1)))


def recurs(loop: q.For) -> bool:
    """Whether an iteration reads what one shortly before it wrote further back in the same row."""
    found = {(each.buf, each.idx, each.writes) for each in accesses(loop.body) if each.idx}
    read: dict[q.Var, list[tuple[q.Affine, ...]]] = {}
    for buf, idx, writes in found:
        if not writes:
            read.setdefault(buf, []).append(idx)
    return any(
        _back(loop.iter, idx, other)
        for buf, idx, writes in found
        if writes
        for other in read.get(buf, ())
    )


def _back(along: q.Var, written: tuple[q.Affine, ...], read: tuple[q.Affine, ...]) -> bool:
    steps = set[int]()
    for one, other in zip(written, read, strict=True):
        behind, factor = one - other, one.coefficient(along)
        if not behind.is_const or (behind.const % factor if factor else behind.const):
            return False
        if factor:
            steps.add(behind.const // factor)
    return len(steps) == 1 and 0 < min(steps) <= NEAR
