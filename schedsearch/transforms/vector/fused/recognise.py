"""Which loops are one instruction per register, and which instruction.

`fuse` recognises a loop whose iterations are independent (or only add to what the
loop does not move) and describes it without names.

Exo takes an instruction at its word: that the C does what the loop does is proved
here. Statements are carried out one after the other on all lanes, so that a lane of
an array that is written may be accessed by that lane only.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.transforms.vector.fused.model import EXTERNS, Fused, arithmetic
from schedsearch.transforms.vector.fused.operands import (
    ArrayAccesses,
    Given,
    as_operand,
    declared,
    scalar,
)

MAX_LANES = 64


def fuse(proc: q.Proc, loop: q.For, lanes: int, counted: bool) -> Fused | None:
    """The instruction for `loop`, whatever its bounds are; None if there is none.

    `loop` may also be a constant loop over registers, with the loop over lanes inside.
    """
    outer, copies = None, 1
    if len(loop.body) == 1 and isinstance(loop.body[0], q.For) and not counted:
        outer, copies, loop = loop, loop.extent or 0, loop.body[0]
        if copies < 2 or outer.parallel or outer.lo != q.Affine(0):
            return None
    if loop.parallel or not 2 <= lanes <= MAX_LANES or lanes & (lanes - 1):
        return None
    if not all(isinstance(stmt, q.Assign | q.Reduce | q.Alloc) for stmt in loop.body):
        return None
    simple = [stmt for stmt in loop.body if isinstance(stmt, q.Assign | q.Reduce)]
    allocs = [stmt for stmt in loop.body if isinstance(stmt, q.Alloc)]
    if not simple or not all(_computable(stmt, counted) for stmt in simple):
        return None
    if any(alloc.shape or alloc.type not in VECTORS for alloc in allocs):
        return None
    locals_ = {alloc.buf for alloc in allocs}
    places: dict[q.Var, list[tuple[q.Affine, ...]]] = {}
    for stmt in simple:
        for read in reads(stmt.rhs):
            places.setdefault(read.buf, []).append(read.idx)
        places.setdefault(stmt.buf, []).append(stmt.idx)
    arrays = declared(proc)
    buffers = [buf for buf in places if buf not in locals_]
    if len({*buffers, *locals_}) < len(buffers) + len(allocs):
        return None
    given: dict[q.Var, Given] = {}
    for uid, buf in enumerate(buffers):
        accesses = ArrayAccesses(
            tuple(places[buf]), [s for s in simple if s.buf == buf], loop, outer
        )
        found = buf in arrays and as_operand(uid, arrays[buf], accesses, lanes)
        if not found:
            return None
        given[buf] = found
    for alloc in allocs:
        given[alloc.buf] = scalar(len(given))
    body = tuple(_renamed(stmt, given) for stmt in loop.body)
    operands = tuple(given[buf].operand for buf in buffers)
    return Fused(lanes, counted, operands, body, copies)


def _computable(stmt: q.Assign | q.Reduce, counted: bool) -> bool:
    """Whether the expression has a vector form. Whole-number division has none that is fast,
    and lanes beyond `n` would divide by 0."""
    kind = arithmetic(stmt)
    if kind is None or stmt.type not in VECTORS:
        return False
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Read():
                if node.type not in VECTORS:
                    return False
            case q.BinOp():
                if node.op not in "+-*/" or (node.op == "/" and kind == "i32"):
                    return False
            case q.Extern():
                if node.name not in EXTERNS or kind == "i32":
                    return False
            case q.Window() | q.ReadConfig():
                return False
    return True


def _renamed(stmt: q.Stmt, given: Mapping[q.Var, Given]) -> q.Stmt:
    match stmt:
        case q.Assign() | q.Reduce():
            place = given[stmt.buf].access(stmt.idx)
            return type(stmt)((), *place, _renamed_expr(stmt.rhs, given), stmt.type)
        case q.Alloc():
            return q.Alloc((), given[stmt.buf].name, stmt.type, (), "DRAM")
        case _:
            raise AssertionError(stmt)


def _renamed_expr(expr: q.Expr, given: Mapping[q.Var, Given]) -> q.Expr:
    match expr:
        case q.Read():
            return q.Read(*given[expr.buf].access(expr.idx), expr.type)
        case q.USub():
            return q.USub(_renamed_expr(expr.arg, given), "")
        case q.BinOp():
            sides = (_renamed_expr(expr.lhs, given), _renamed_expr(expr.rhs, given))
            return q.BinOp(expr.op, *sides, "")
        case q.Extern():
            return q.Extern(expr.name, tuple(_renamed_expr(a, given) for a in expr.args), "")
        case q.Const():
            return q.Const(expr.value, "")
        case _:
            raise AssertionError(expr)
