"""First-order linear recurrences over lanes, and their C: `y[l] = a[l] + b * y[l - 1]`, in an array or
in a scalar that iterations hand on (`s = a[l] + b * s; y[l] = s`).

In a register each lane adds what is one lane below, `b` times, then two, `b * b` times, and so on:
`log2(lanes)` steps (Hillis and Steele, CACM 1986). Then all of them add the last result before the
register times powers of `b`. One register waits for the one before it with one multiply-add.

The powers of a `b` above 1 may be infinite where no result is. Of such a number there is no
instruction; where `b` is known in the call only, the lanes are computed one after the other then.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from operator import add, mul, sub, truediv

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.snippets import Snippet, function
from schedsearch.transforms.vector.registers import set_name

KINDS = ("f32", "f64")

Place = tuple[q.Var, tuple[q.Affine, ...]]


@dataclass(frozen=True)
class Recurrence:
    """The right side of `stmt` as `free + factor * before`. `before` is `y[l - 1]` of `y[l] = ...`;
    a scalar itself, if it is `carried` from each iteration to the next.

    No `free` is 0. `added`: the factor is 1, written as no product. `known`: it is a number, of 1
    at most. `shifted`: statements before `stmt` read what the iteration before made of the scalar,
    and nothing of theirs is in `free`."""

    stmt: q.Assign | q.Reduce
    before: q.Read
    factor: q.Expr
    free: q.Expr | None
    carried: bool = False
    shifted: bool = False

    @property
    def added(self) -> bool:
        return self.factor == _ONE

    @property
    def known(self) -> bool:
        return _number(self.factor) is not None


_ONE = q.Const(1.0, "")


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
    stmt: q.Assign | q.Reduce, before: q.Read, along: q.Var, written: Set[q.Var]
) -> Recurrence | None:
    """A statement as a recurrence, if it is linear in `before` by a factor that stays."""
    found = _split(stmt.rhs, before, along)
    factor, free = found or (None, None)
    carried = before.idx == stmt.idx
    if carried and isinstance(stmt, q.Reduce):
        factor, free = (_ONE, stmt.rhs) if factor is None else (None, None)
    if factor is None or abs(_number(factor) or 0.0) > 1.0:
        return None
    if any(read.buf in written for read in reads(factor)):
        return None  # the loop may change it
    if isinstance(stmt, q.Reduce) and not carried:
        own = q.Read(stmt.buf, stmt.idx, stmt.type)
        free = own if free is None else q.BinOp("+", own, free, stmt.type)
    return Recurrence(stmt, before, factor, free, carried)


def _carried(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | None:
    """A loop that hands on one element, which one statement computes from what it was, and others
    read."""
    stmts = [stmt for stmt in body if isinstance(stmt, q.Assign | q.Reduce)]
    local = {stmt.buf for stmt in body if isinstance(stmt, q.Alloc)}
    fixed = [s for s in stmts if s.buf not in local and not _mentions(s.idx, along)]
    if len(fixed) != 1 or len(stmts) < 2 or fixed[0].type not in KINDS:
        return None
    (stmt,) = fixed
    own = q.Read(stmt.buf, stmt.idx, stmt.type)
    if any(read.type != stmt.type for read in reads(stmt.rhs)):
        return None
    if any(read != own for each in stmts for read in reads(each.rhs) if read.buf == own.buf):
        return None  # another element
    found = _linear(stmt, own, along, {each.buf for each in stmts} | local)
    early = stmts[: stmts.index(stmt)]
    if found is None or not any(own in reads(each.rhs) for each in early):
        return found
    later = {each.buf for each in early}
    if found.free is not None and any(read.buf in later for read in reads(found.free)):
        return None
    return replace(found, shifted=True)


def _mentions(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    return any(along in q.expr_vars(index) for index in idx)


def _moves(idx: tuple[q.Affine, ...], along: q.Var) -> bool:
    """Whether neighbouring iterations are neighbours in memory."""
    *outer, last = idx
    rest = last - q.as_affine(along)
    return not _mentions((*outer, rest), along)


def _before(stmt: q.Assign | q.Reduce, along: q.Var) -> q.Read | None:
    """The element that the iteration before wrote, if the statement reads it, and none that earlier
    iterations wrote."""
    found: q.Read | None = None
    for read in reads(stmt.rhs):
        if read.buf != stmt.buf:
            continue
        apart = [one - other for one, other in zip(read.idx, stmt.idx, strict=True)]
        if not all(each.is_const for each in apart):
            return None
        if any(each.const for each in apart[:-1]) or apart[-1].const >= 0:
            continue  # another row, or not written yet
        if apart[-1].const < -1:
            return None
        found = read
    return found


_Parts = tuple[q.Expr | None, q.Expr | None]
"""What the element before is multiplied by, and what is added; None for 0."""


def _split(expr: q.Expr, before: q.Read, along: q.Var) -> _Parts | None:
    """None if the expression is not linear in `before`, or its factor depends on the iteration."""
    if expr == before:
        return _ONE, None
    if before not in reads(expr):
        return None, expr
    match expr:
        case q.USub():
            found = _split(expr.arg, before, along)
            return found and (_negated(found[0]), _negated(found[1]))
        case q.BinOp(op="+" | "-"):
            left, right = (_split(side, before, along) for side in (expr.lhs, expr.rhs))
            if left is None or right is None:
                return None
            factor, free = (
                _joined(expr.op, *pair, expr.type) for pair in zip(left, right, strict=True)
            )
            return factor, free
        case q.BinOp(op="*" | "/"):
            first = before in reads(expr.lhs)
            part, other = (expr.lhs, expr.rhs) if first else (expr.rhs, expr.lhs)
            found = _split(part, before, along)
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
    if part == _ONE and expr.op == "*":
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


def linear(kind: str, lanes: int, known: bool) -> Snippet:
    """`c = r[l] = a[l] + b * c` in every lane, one after the other. `known`: `b` is 1 at most."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    one = "1.0f" if kind == "f32" else "1.0"
    steps = []
    for by in (1 << turn for turn in range(lanes.bit_length() - 1)):
        order = ", ".join(str(lanes - by + lane) for lane in range(lanes))
        steps.append(f"a += p[{by - 1}] * __builtin_shufflevector(({vec}){{0}}, a, {order});")
    in_turn = [
        f"if (b < -{one} || b > {one}) {{",
        f"    for (int l = 0; l < {lanes}; l++) r[l] = *c = a[l] + b * *c;",
        "    return r;",
        "}",
    ]
    body = [
        f"{vec} p, r;",
        *([] if known else in_turn),
        "p[0] = b;",
        f"for (int l = 1; l < {lanes}; l++) p[l] = p[l - 1] * b;",
        *steps,
        "r = a + p * *c;",
        f"*c = a[{lanes - 1}] + p[{lanes - 1}] * *c;",
        "return r;",
    ]
    params = f"{vec} a, {element} b, {element} *c"
    name = f"{vec}_recurrence{'' if known else '_any'}"
    return function(name, vec, params, "\n    ".join(body))
