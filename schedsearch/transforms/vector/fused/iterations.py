"""What statements of an iteration compute, in terms of what was there before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q

KINDS = ("f32", "f64", "i32")
FURTHEST = 4
"""Iterations back that a statement may read what one wrote."""

Place = tuple[q.Var, tuple[q.Affine, ...]]


MOST_TERMS = 300
"""Nodes of a value, written out."""


def written_out(stmt: q.Assign | q.Reduce, values: dict[Place, q.Expr]) -> q.Expr:
    """What a statement computes, in terms of what was there before those whose `values` are known;
    it is one of them then."""
    value = with_values(stmt.rhs, values)
    if isinstance(stmt, q.Reduce):
        own = q.Read(stmt.buf, stmt.idx, stmt.type)
        value = q.BinOp("+", with_values(own, values), value, stmt.type)
    values[stmt.buf, stmt.idx] = value
    return value


def is_short(value: q.Expr) -> bool:
    return sum(1 for _ in q.walk_expr(value)) <= MOST_TERMS


def with_values(expr: q.Expr, values: Mapping[Place, q.Expr]) -> q.Expr:
    """An expression with what was computed in the place of what it is kept in."""
    return q.with_reads(expr, lambda read: values.get((read.buf, read.idx), read))


def mentions(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    return any(along in q.expr_vars(index) for index in idx)


def moves(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    """Whether neighbouring iterations are neighbours in memory."""
    if not idx:
        return False
    *outer, last = idx
    rest = last - q.as_affine(along)
    return not mentions((*outer, rest), along)


def becomes(
    body: Sequence[q.Stmt], along: q.Var
) -> tuple[dict[q.Read, q.Expr], frozenset[q.Var]] | None:
    """What an iteration makes of each state, of what all were before; and what the loop changes."""
    stmts = [stmt for stmt in body if isinstance(stmt, q.Assign | q.Reduce)]
    local = {stmt.buf for stmt in body if isinstance(stmt, q.Alloc)}
    if not stmts or {stmt.type for stmt in stmts} - set(KINDS) or len(_types(stmts)) > 1:
        return None
    places = list(dict.fromkeys((stmt.buf, stmt.idx) for stmt in stmts))
    written = {buf for buf, _ in places}
    moving = [place for place in places if place[0] not in local and moves(place[1], along)]
    values: dict[Place, q.Expr] = {}
    past: dict[Place, int] = {}
    for stmt in stmts:
        for read in reads(stmt.rhs):
            if read.buf in local and (read.buf, read.idx) not in values:
                return None
            if read.buf in written and (read.buf, read.idx) not in places:
                found = _written_before(read, moving, values)
                if found is None:
                    return None  # perhaps what another iteration makes
                place, distance = found
                past[place] = max(past.get(place, 0), distance)
        if not is_short(written_out(stmt, values)):
            return None
    fixed = [place for place in places if place[0] not in local and not mentions(place[1], along)]
    waits = [read for stmt in stmts for read in reads(stmt.rhs) if _waits(stmt, read)]
    handed_on = any(past.values()) or any((read.buf, read.idx) in fixed for read in waits)
    if not _are_others(fixed) or not handed_on:
        return None  # sums have any order
    (kind,) = _types(stmts)
    order = [place for place in values if place in fixed]
    after = {q.Read(*place, kind): values[place] for place in order}
    for place, furthest in past.items():
        for distance in range(1, furthest + 1):
            nearer = values[place] if distance == 1 else _back(place, distance - 1, kind)
            after[_back(place, distance, kind)] = nearer
    return after, frozenset(written | local)


def _back(place: Place, distance: int, kind: str) -> q.Read:
    buf, (*outer, last) = place
    return q.Read(buf, (*outer, last - distance), kind)


def _written_before(
    read: q.Read, moving: Sequence[Place], values: Mapping[Place, q.Expr]
) -> tuple[Place, int] | None:
    """The place that an iteration before wrote, so many iterations before, where a statement reads
    this; 0 if none did. None if that is not known, or too far, or if lanes may have
    written what a later iteration writes."""
    row = None
    for place in moving:
        if place[0] != read.buf:
            continue
        *outer, last = (one - other for one, other in zip(read.idx, place[1], strict=True))
        if not all(each.is_const for each in (*outer, last)):
            return None
        if not any(each.const for each in outer):
            if row is not None:
                return None  # two of them are in one row
            row = place, -last.const
    if row is None:
        return (moving[0], 0) if any(place[0] == read.buf for place in moving) else None
    place, distance = row
    if distance > FURTHEST or (distance < 0 and place in values):
        return None
    return place, max(distance, 0)


def _waits(stmt: q.Assign | q.Reduce, read: q.Read) -> bool:
    """Whether a read is not that of the element that a minimum or maximum is taken of."""
    own = (read.buf, read.idx) == (stmt.buf, stmt.idx)
    return not (own and isinstance(stmt, q.Assign) and reduction(stmt))


def _types(stmts: Sequence[q.Assign | q.Reduce]) -> set[str]:
    return {each.type for stmt in stmts for each in (stmt, *reads(stmt.rhs))}


def _are_others(places: Sequence[Place]) -> bool:
    """Whether no two are one element, whatever sizes are."""
    for number, (buf, idx) in enumerate(places):
        for other, where in places[:number]:
            if other != buf:
                continue
            apart = [one - two for one, two in zip(idx, where, strict=True)]
            if not all(each.is_const for each in apart) or not any(each.const for each in apart):
                return False
    return True
