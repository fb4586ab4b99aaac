"""Recurrences along a loop: `y[l] = a[l] + b * y[l - 1]`, of second order with `d * y[l - 2]`, and
those of a scalar that iterations hand on (`s = a[l] + b * s; y[l] = s`).

The factor may also differ from iteration to iteration (`b[l] * y[l - 1]`: gates, weights, products
that go on), if it is the only one. Instead of a sum of products the value may be a minimum or
maximum of sums, `max(a[l], y[l - 1] + b)` (`running_extremes.py`).

The powers of some factors grow: infinite ones would give NaN where no result is. Of such numbers
there is no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.floats import FloatingPoint
from schedsearch.transforms.vector.fused.iterations import (
    KINDS,
    Place,
    is_short,
    mentions,
    moves,
    with_values,
    written_out,
)
from schedsearch.transforms.vector.fused.linear import ONE, grows, known, split, varies
from schedsearch.transforms.vector.fused.running_extremes import Extreme, by_extreme


@dataclass(frozen=True)
class Recurrence:
    """The right side of `stmt` as `free + factor * before`. `before` is `y[l - 1]` of `y[l] = ...`;
    a scalar itself, if it is `carried` from each iteration to the next. `second` is the factor of
    `y[l - 2]`, if that is read.

    No `free` is 0. `added`: the factor is 1, written as no product. `known`: factors are numbers,
    whose powers do not grow. `shifted`: statements before `stmt` read what the iteration before
    made of the scalar, and nothing of theirs is in `free`. `varies`: iterations have factors of
    their own. `extreme`: the right side is the smaller or larger one of `free` and `before +
    factor`; no `factor` is 0 then. Where `open` is 0 it is `free` alone. `beyond`: the sum may
    overflow where the right side does not. `limit`: the other extreme is taken of that and this.
    `scale`: what `before` is multiplied by in an extreme; none is 1."""

    stmt: q.Assign | q.Reduce
    before: q.Read
    factor: q.Expr | None
    free: q.Expr | None
    carried: bool = False
    shifted: bool = False
    second: q.Expr | None = None
    varies: bool = False
    extreme: Extreme = ""
    open: q.Expr | None = None
    beyond: bool = False
    limit: q.Expr | None = None
    scale: q.Expr | None = None

    @property
    def added(self) -> bool:
        return self.factor == ONE and self.second is None

    @property
    def contract(self) -> FloatingPoint:
        """The strictest one that a computation in another order keeps. Integers are exact, sums
        without factors are sums in another order, all else is more than that."""
        if self.stmt.type in INTEGERS:
            return FloatingPoint.STRICT
        return FloatingPoint.REASSOCIATE if self.added else FloatingPoint.FAST

    @property
    def scans(self) -> bool:
        """Whether it is computed as in `scans.py`."""
        return self.varies or bool(self.extreme) or self.stmt.type in INTEGERS

    @property
    def known(self) -> bool:
        return known(self.factor, self.second, self.stmt.type)

    @property
    def buffers(self) -> frozenset[q.Var]:
        """Those whose elements lanes read after the one before has written them."""
        return frozenset({self.stmt.buf})


def recurrence(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | None:
    """The recurrence along the variable of a loop; None if its body is none."""
    stmts = [stmt for stmt in body if isinstance(stmt, q.Assign | q.Reduce)]
    local = {stmt.buf for stmt in body if isinstance(stmt, q.Alloc)}
    in_array = _in_array(stmts, local, along) if stmts and moves(stmts[-1].idx, along) else None
    return in_array or _carried(stmts, local, along)


def _in_array(
    stmts: Sequence[q.Assign | q.Reduce], local: Set[q.Var], along: q.Var
) -> Recurrence | None:
    """A loop that computes an array from the elements before, after scalars of its own. Those that
    read elements before are written out."""
    *early, stmt = stmts
    if {stmt.type for stmt in stmts} - set(KINDS) or {each.buf for each in early} - local:
        return None
    value = stmt.rhs
    if any(_is_back(read, stmt) for each in early for read in reads(each.rhs)):
        made: dict[Place, q.Expr] = {}
        if not all(is_short(written_out(each, made)) for each in early):
            return None
        value = with_values(value, made)
    before = _before(value, stmt)
    if before is None or any(read.type != stmt.type for read in reads(value)):
        return None
    return _solved(stmt, value, before, along, {stmt.buf}, local)


def _solved(
    stmt: q.Assign | q.Reduce,
    value: q.Expr,
    before: tuple[q.Read, ...],
    along: q.Var,
    written: Set[q.Var],
    local: Set[q.Var],
) -> Recurrence | None:
    """A statement as a recurrence, if it is one in the one or two values `before` by factors
    that nothing but scalars of the iteration changes."""
    carried = before[0].idx == stmt.idx
    extreme: Extreme = ""
    open_, limit, scale = None, None, None
    beyond = False
    found = _linear(value, before)
    if found is None and len(before) == 1 and isinstance(stmt, q.Assign):
        chosen = by_extreme(value, before[0], stmt.type)
        if chosen is None:
            return None
        extreme, found, open_ = chosen.extreme, ([chosen.factor], chosen.free), chosen.open
        beyond, limit, scale = chosen.beyond, chosen.limit, chosen.scale
        if scale is not None and varies(scale, local | {along}):
            return None
    if found is None:
        return None
    factors, free = found
    if carried and isinstance(stmt, q.Reduce):
        if factors != [None]:
            return None
        factors[0], free = ONE, value
    if factors[-1] is None and not extreme:
        return None
    factor, second = factors[-1], factors[0] if len(before) > 1 else None
    needed = [each for each in (*factors, open_, scale) if each]
    if any(read.buf in written - local for each in needed for read in reads(each)):
        return None  # the loop may change it
    own = any(each and varies(each, local | {along}) for each in factors)
    if second is not None and (own or stmt.type in INTEGERS):
        return None
    if isinstance(stmt, q.Reduce) and not carried:
        target = q.Read(stmt.buf, stmt.idx, stmt.type)
        free = target if free is None else q.BinOp("+", target, free, stmt.type)
    steady = factor is not None and not (own or extreme or stmt.type in INTEGERS)
    if steady and factor and grows(factor, second):
        return None
    how = (own, extreme, open_, beyond, limit, scale)
    return Recurrence(stmt, before[0], factor, free, carried, False, second, *how)


def _linear(
    value: q.Expr, before: tuple[q.Read, ...]
) -> tuple[list[q.Expr | None], q.Expr | None] | None:
    """The factors of the values before, that of the last one at the end, and what is added."""
    free: q.Expr | None = value
    factors = []
    for read in reversed(before):
        found = split(free, read) if free else (None, None)
        if found is None:
            return None
        factors.append(found[0])
        free = found[1]
    return factors, free


def _carried(
    stmts: Sequence[q.Assign | q.Reduce], local: Set[q.Var], along: q.Var
) -> Recurrence | None:
    """A loop that hands on one element, which one statement computes from what it was, and others
    read."""
    fixed = [s for s in stmts if s.buf not in local and not mentions(s.idx, along)]
    if len(fixed) != 1 or len(stmts) < 2 or fixed[0].type not in KINDS:
        return None
    (stmt,) = fixed
    own = q.Read(stmt.buf, stmt.idx, stmt.type)
    if any(read.type != stmt.type for read in reads(stmt.rhs)):
        return None
    if any(read != own for each in stmts for read in reads(each.rhs) if read.buf == own.buf):
        return None  # another element
    early = stmts[: stmts.index(stmt)]
    known = local & {each.buf for each in early}
    written = {each.buf for each in stmts} | local
    found = _solved(stmt, stmt.rhs, (own,), along, written, known)
    if found is None or not any(own in reads(each.rhs) for each in early):
        return found
    later = {each.buf for each in early}
    needed = [each for each in (found.free, found.factor, found.open, found.limit) if each]
    if any(read.buf in later for each in needed for read in reads(each)):
        return None
    return replace(found, shifted=True)


def _before(value: q.Expr, stmt: q.Assign | q.Reduce) -> tuple[q.Read, ...] | None:
    """The element that the iteration before wrote, and that of the one before it, if the value
    of the statement reads it, and none that earlier iterations wrote."""
    found: dict[int, q.Read] = {}
    for read in reads(value):
        if not _is_back(read, stmt):
            continue
        apart = (read.idx[-1] - stmt.idx[-1]).const
        if not _same_row(read, stmt) or apart < -2:
            return None
        found[-apart] = read
    if 1 not in found:
        return None
    return tuple(found[distance] for distance in sorted(found))


def _is_back(read: q.Read, stmt: q.Assign | q.Reduce) -> bool:
    """Whether an iteration before may have written what is read."""
    if read.buf != stmt.buf:
        return False
    apart = [one - other for one, other in zip(read.idx, stmt.idx, strict=True)]
    if not all(each.is_const for each in apart):
        return True
    return not any(each.const for each in apart[:-1]) and apart[-1].const < 0


def _same_row(read: q.Read, stmt: q.Assign | q.Reduce) -> bool:
    return all((one - other).is_const for one, other in zip(read.idx, stmt.idx, strict=True))
