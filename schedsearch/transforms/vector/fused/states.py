"""Scalars that iterations hand on, several of them: filters with their history in variables.

```
o = b0 * x[j] + z1
z1 = b1 * x[j] + z2 - a1 * o
z2 = b2 * x[j] - a2 * o
y[j] = o
```

Each is a `State`. What an iteration makes of it is computed from what all of them were before it:
of those that are known already, by any expression; of itself, and of one other that waits for
it, by factors that stay. `x2 = x1`, and `x1 = x[j]` after it, are states, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.transforms.vector.fused.recurrences import (
    KINDS,
    Place,
    Recurrence,
    grows,
    known,
    mentions,
    recurrence,
    split,
)

MOST_TERMS = 300
"""Nodes of what a state becomes, written out."""


@dataclass(frozen=True)
class Partner:
    """A state that waits for another one: it becomes `free + back * (the other)`. The other one
    becomes `across` times it, and more."""

    read: q.Read
    across: q.Expr
    back: q.Expr
    free: q.Expr | None


@dataclass(frozen=True)
class State:
    """A scalar that an iteration makes `free + factor * itself`, plus what its partner adds.
    Without a factor it is `free` alone. No `free` is 0."""

    read: q.Read
    free: q.Expr | None
    factor: q.Expr | None = None
    partner: Partner | None = None

    @property
    def second(self) -> q.Expr | None:
        """The factor of what the state was two iterations before."""
        if self.partner is None:
            return None
        return q.BinOp("*", self.partner.across, self.partner.back, "")

    @property
    def known(self) -> bool:
        return known(self.factor, self.second)

    @property
    def places(self) -> tuple[q.Read, ...]:
        return (self.read, self.partner.read) if self.partner else (self.read,)


@dataclass(frozen=True)
class States:
    """Those of a loop; each is computed from ones before it."""

    each: tuple[State, ...]

    added = False

    @property
    def places(self) -> tuple[q.Read, ...]:
        return tuple(read for state in self.each for read in state.places)

    @property
    def buffers(self) -> frozenset[q.Var]:
        return frozenset(read.buf for read in self.places)


def law(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | States | None:
    """How iterations of a loop need those before them, if linearly; None if otherwise."""
    return recurrence(body, along) or handed_on(body, along)


def handed_on(body: Sequence[q.Stmt], along: q.Var) -> States | None:
    """The states of a loop; None if there are none, or they have no order."""
    made = _becomes(body, along)
    if made is None:
        return None
    after, changed = made
    found: list[State] = []
    left = dict(after)
    while left:
        state = next(_next_states(left, changed, along), None)
        if state is None:
            return None
        found.append(state)
        for read in state.places:
            del left[read]
    return States(tuple(found)) if found else None


def _becomes(
    body: Sequence[q.Stmt], along: q.Var
) -> tuple[dict[q.Read, q.Expr], frozenset[q.Var]] | None:
    """What an iteration makes of each state, of what all were before; and what the loop changes."""
    stmts = [stmt for stmt in body if isinstance(stmt, q.Assign | q.Reduce)]
    local = {stmt.buf for stmt in body if isinstance(stmt, q.Alloc)}
    if not stmts or {stmt.type for stmt in stmts} - set(KINDS) or len(_types(stmts)) > 1:
        return None
    places = {(stmt.buf, stmt.idx) for stmt in stmts}
    written = {buf for buf, _ in places}
    values: dict[Place, q.Expr] = {}
    for stmt in stmts:
        value = _with(stmt.rhs, values)
        for read in reads(stmt.rhs):
            if read.buf in written and (read.buf, read.idx) not in places:
                return None  # perhaps what another iteration makes
            if read.buf in local and (read.buf, read.idx) not in values:
                return None
        if isinstance(stmt, q.Reduce):
            own = q.Read(stmt.buf, stmt.idx, stmt.type)
            value = q.BinOp("+", _with(own, values), value, stmt.type)
        if sum(1 for _ in q.walk_expr(value)) > MOST_TERMS:
            return None
        values[stmt.buf, stmt.idx] = value
    fixed = [place for place in places if place[0] not in local and not mentions(place[1], along)]
    used = {(read.buf, read.idx) for stmt in stmts for read in reads(stmt.rhs)}
    if not _are_others(fixed) or used.isdisjoint(fixed):
        return None  # sums have any order
    (kind,) = _types(stmts)
    order = [place for place in values if place in fixed]
    return {q.Read(*place, kind): values[place] for place in order}, frozenset(written | local)


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


def _with(expr: q.Expr, values: Mapping[Place, q.Expr]) -> q.Expr:
    """An expression with what was computed in the place of what it is kept in."""
    match expr:
        case q.Read():
            return values.get((expr.buf, expr.idx), expr)
        case q.USub():
            return replace(expr, arg=_with(expr.arg, values))
        case q.BinOp():
            return replace(expr, lhs=_with(expr.lhs, values), rhs=_with(expr.rhs, values))
        case q.Extern():
            return replace(expr, args=tuple(_with(arg, values) for arg in expr.args))
        case _:
            return expr


def _next_states(
    left: Mapping[q.Read, q.Expr], changed: frozenset[q.Var], along: q.Var
) -> Iterator[State]:
    """States that need none of those that are left but themselves, or a partner."""
    needs = {read: {each for each in reads(value) if each in left} for read, value in left.items()}
    for read, value in left.items():
        if not needs[read]:
            yield State(read, value)
    for read, value in left.items():
        if needs[read] == {read} and (parts := _split(value, read, changed, along)):
            factor, free = parts
            if not grows(factor, None):
                yield State(read, free, factor)
    for read, value in left.items():
        for other, whole in left.items():
            if other == read or needs[other] != {read} or needs[read] - {read} != {other}:
                continue
            if (state := _pair(read, value, other, whole, changed, along)) is not None:
                yield state


def _pair(
    read: q.Read,
    value: q.Expr,
    other: q.Read,
    whole: q.Expr,
    changed: frozenset[q.Var],
    along: q.Var,
) -> State | None:
    """Two states, of which the `other` one needs what `read` was."""
    back = _split(whole, read, changed, along)
    across = _split(value, other, changed, along)
    if back is None or across is None:
        return None
    factor: q.Expr = q.Const(0.0, "")
    free = across[1]
    if free is not None and read in reads(free):
        own = _split(free, read, changed, along)
        if own is None:
            return None
        factor, free = own
    state = State(read, free, factor, Partner(other, across[0], back[0], back[1]))
    return None if grows(factor, state.second) else state


def _split(
    value: q.Expr, read: q.Read, changed: frozenset[q.Var], along: q.Var
) -> tuple[q.Expr, q.Expr | None] | None:
    """A value as `free + factor * read`; None if the factor does not stay."""
    found = split(value, read, along)
    if found is None or found[0] is None or any(r.buf in changed for r in reads(found[0])):
        return None
    return found[0], found[1]
