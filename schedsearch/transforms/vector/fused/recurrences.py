"""Linear recurrences along a loop: `y[l] = a[l] + b * y[l - 1]`, of second order with
`d * y[l - 2]`, and those of a scalar that iterations hand on (`s = a[l] + b * s; y[l] = s`).

Factors are the same in all iterations. The powers of some grow: infinite ones would give NaN where
no result is. Of such numbers there is no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from operator import add, mul, sub, truediv

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q

KINDS = ("f32", "f64")

Place = tuple[q.Var, tuple[q.Affine, ...]]


@dataclass(frozen=True)
class Recurrence:
    """The right side of `stmt` as `free + factor * before`. `before` is `y[l - 1]` of `y[l] = ...`;
    a scalar itself, if it is `carried` from each iteration to the next. `second` is the factor of
    `y[l - 2]`, if that is read.

    No `free` is 0. `added`: the factor is 1, written as no product. `known`: factors are numbers,
    whose powers do not grow. `shifted`: statements before `stmt` read what the iteration before
    made of the scalar, and nothing of theirs is in `free`."""

    stmt: q.Assign | q.Reduce
    before: q.Read
    factor: q.Expr
    free: q.Expr | None
    carried: bool = False
    shifted: bool = False
    second: q.Expr | None = None

    @property
    def added(self) -> bool:
        return self.factor == ONE and self.second is None

    @property
    def known(self) -> bool:
        return known(self.factor, self.second)

    @property
    def buffers(self) -> frozenset[q.Var]:
        """Those whose elements lanes read after the one before has written them."""
        return frozenset({self.stmt.buf})


ONE = q.Const(1.0, "")


def known(factor: q.Expr | None, second: q.Expr | None) -> bool:
    """Whether the factors of the last value, and of that before it, are numbers."""
    return all(_number(each) is not None for each in (factor, second) if each)


def grows(factor: q.Expr, second: q.Expr | None) -> bool:
    """Whether it is known that a value before counts more and more."""
    first = _number(factor)
    if second is None:
        return first is not None and abs(first) > 1.0
    last = _number(second)
    if last is None:
        return False
    if first is None:
        return last < -1.0
    return last < -1.0 or abs(first) > 1.0 - last or (last == -1.0 and abs(first) == 2.0)


def recurrence(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | None:
    """The recurrence along the variable of a loop; None if its body is none."""
    match body:
        case (q.Assign() | q.Reduce() as stmt,):
            return _in_array(stmt, along)
        case _:
            return _carried(body, along)


def _in_array(stmt: q.Assign | q.Reduce, along: q.Var) -> Recurrence | None:
    if stmt.type not in KINDS or not stmt.idx or not _moves(stmt.idx, along):
        return None
    before = _before(stmt, along)
    if before is None or any(read.type != stmt.type for read in reads(stmt.rhs)):
        return None
    return _linear(stmt, before, along, {stmt.buf})


def _linear(
    stmt: q.Assign | q.Reduce,
    before: tuple[q.Read, ...],
    along: q.Var,
    written: Set[q.Var],
) -> Recurrence | None:
    """A statement as a recurrence, if it is linear in the one or two values `before` by factors
    that stay."""
    free: q.Expr | None = stmt.rhs
    factors = []
    for read in reversed(before):
        found = split(free, read, along) if free else (None, None)
        if found is None:
            return None
        factors.append(found[0])
        free = found[1]
    factor, second = factors[-1], factors[0] if len(before) > 1 else None
    carried = before[0].idx == stmt.idx
    if carried and isinstance(stmt, q.Reduce):
        factor, free = (ONE, stmt.rhs) if factor is None else (None, None)
    if factor is None or any(
        read.buf in written for each in factors if each for read in reads(each)
    ):
        return None  # the loop may change it
    if isinstance(stmt, q.Reduce) and not carried:
        own = q.Read(stmt.buf, stmt.idx, stmt.type)
        free = own if free is None else q.BinOp("+", own, free, stmt.type)
    made = Recurrence(stmt, before[0], factor, free, carried, second=second)
    return None if grows(factor, second) else made


def _carried(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | None:
    """A loop that hands on one element, which one statement computes from what it was, and others
    read."""
    stmts = [stmt for stmt in body if isinstance(stmt, q.Assign | q.Reduce)]
    local = {stmt.buf for stmt in body if isinstance(stmt, q.Alloc)}
    fixed = [s for s in stmts if s.buf not in local and not mentions(s.idx, along)]
    if len(fixed) != 1 or len(stmts) < 2 or fixed[0].type not in KINDS:
        return None
    (stmt,) = fixed
    own = q.Read(stmt.buf, stmt.idx, stmt.type)
    if any(read.type != stmt.type for read in reads(stmt.rhs)):
        return None
    if any(read != own for each in stmts for read in reads(each.rhs) if read.buf == own.buf):
        return None  # another element
    found = _linear(stmt, (own,), along, {each.buf for each in stmts} | local)
    early = stmts[: stmts.index(stmt)]
    if found is None or not any(own in reads(each.rhs) for each in early):
        return found
    later = {each.buf for each in early}
    if found.free is not None and any(read.buf in later for read in reads(found.free)):
        return None
    return replace(found, shifted=True)


def mentions(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    return any(along in q.expr_vars(index) for index in idx)


def _moves(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    """Whether neighbouring iterations are neighbours in memory."""
    *outer, last = idx
    rest = last - q.as_affine(along)
    return not mentions((*outer, rest), along)


def _before(stmt: q.Assign | q.Reduce, along: q.Var) -> tuple[q.Read, ...] | None:
    """The element that the iteration before wrote, and that of the one before it, if the statement
    reads it, and none that earlier iterations wrote."""
    found: dict[int, q.Read] = {}
    for read in reads(stmt.rhs):
        if read.buf != stmt.buf:
            continue
        apart = [one - other for one, other in zip(read.idx, stmt.idx, strict=True)]
        if not all(each.is_const for each in apart):
            return None
        if any(each.const for each in apart[:-1]) or apart[-1].const >= 0:
            continue  # another row, or not written yet
        if apart[-1].const < -2:
            return None
        found[-apart[-1].const] = read
    if 1 not in found:
        return None
    return tuple(found[distance] for distance in sorted(found))


Parts = tuple[q.Expr | None, q.Expr | None]
"""What the element before is multiplied by, and what is added; None for 0."""


def split(expr: q.Expr, before: q.Read, along: q.Var) -> Parts | None:
    """None if the expression is not linear in `before`, or its factor depends on the iteration."""
    if expr == before:
        return ONE, None
    if before not in reads(expr):
        return None, expr
    match expr:
        case q.USub():
            found = split(expr.arg, before, along)
            return found and (_negated(found[0]), _negated(found[1]))
        case q.BinOp(op="+" | "-"):
            left, right = (split(side, before, along) for side in (expr.lhs, expr.rhs))
            if left is None or right is None:
                return None
            factor, free = (
                _joined(expr.op, *pair, expr.type) for pair in zip(left, right, strict=True)
            )
            return factor, free
        case q.BinOp(op="*" | "/"):
            first = before in reads(expr.lhs)
            part, other = (expr.lhs, expr.rhs) if first else (expr.rhs, expr.lhs)
            found = split(part, before, along)
            scaled = before in reads(other) or along in q.expr_vars(other)
            if found is None or scaled or (expr.op == "/" and not first):
                return None
            factor, free = (_scaled(expr, each, other) for each in found)
            return factor, free
        case _:
            return None


def _negated(expr: q.Expr | None) -> q.Expr | None:
    return expr and q.USub(expr, "")


def _joined(op: str, one: q.Expr | None, other: q.Expr | None, kind: str) -> q.Expr | None:
    if one is None:
        return other if op == "+" else _negated(other)
    return one if other is None else q.BinOp(op, one, other, kind)


def _scaled(expr: q.BinOp, part: q.Expr | None, other: q.Expr) -> q.Expr | None:
    if part == ONE and expr.op == "*":
        return other
    return part and q.BinOp(expr.op, part, other, expr.type)


def _number(expr: q.Expr) -> float | None:
    """The value of an expression of numbers alone."""
    match expr:
        case q.Const():
            return float(expr.value)
        case q.USub():
            value = _number(expr.arg)
            return value and -value
        case q.BinOp():
            left, right = _number(expr.lhs), _number(expr.rhs)
            if left is None or right is None or (expr.op == "/" and not right):
                return None
            return float({"+": add, "-": sub, "*": mul, "/": truediv}[expr.op](left, right))
        case _:
            return None
