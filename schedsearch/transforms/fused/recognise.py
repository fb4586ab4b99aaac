"""Which loops are one instruction per register, and which.

`fuse` recognises a loop whose iterations are independent (or only add to what the
loop does not move) and describes it without names.

Exo takes an instruction at its word: that the C does what the loop does is proved
here. Statements are carried out one after the other on all lanes, so every array
that is written may be accessed at one place only, the written one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.transforms.fused.model import (
    COPY,
    ELEMENTS,
    EXTERNS,
    LANE,
    Fused,
    Operand,
    operand,
    reads,
    value_type,
)
from schedsearch.transforms.vectors import register_of

MAX_LANES = 64
MAX_SPAN = 64
"""Accesses to one array that are further apart do not make one window."""


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
    if any(alloc.shape or alloc.type not in ELEMENTS for alloc in allocs):
        return None
    locals_ = {alloc.buf for alloc in allocs}
    places: dict[q.Var, list[tuple[q.Affine, ...]]] = {}
    for stmt in simple:
        for read in reads(stmt.rhs):
            places.setdefault(read.buf, []).append(read.idx)
        places.setdefault(stmt.buf, []).append(stmt.idx)
    arrays = _arrays(proc)
    operands, corners = [], []
    buffers = [buf for buf in places if buf not in locals_]
    for buf in buffers:
        found = buf in arrays and _operand(
            (loop, outer), simple, buf, places[buf], arrays[buf], lanes
        )
        if not found or (counted and found[0].registers):
            return None
        operands.append(found[0])
        corners.append(found[1])
    order = {buf: number for number, buf in enumerate([*buffers, *(a.buf for a in allocs)])}
    if len(order) < len(buffers) + len(allocs):
        return None
    variables = {loop.iter: LANE, **({outer.iter: COPY} if outer else {})}
    renaming = _Renaming(order, dict(zip(buffers, corners, strict=True)), variables)
    body = tuple(map(renaming.stmt, loop.body))
    return Fused(lanes, counted, tuple(operands), body, copies)


def _computable(stmt: q.Assign | q.Reduce, counted: bool) -> bool:
    """Whether the expression has a vector form. Whole-number division has none that is fast,
    and lanes beyond `n` would divide by 0."""
    kind = value_type(stmt)
    if kind is None or stmt.type not in ELEMENTS:
        return False
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Read():
                if node.type not in ELEMENTS:
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


@dataclass(frozen=True)
class _Array:
    """A declaration: element type, memory, and whether the last dimension is contiguous."""

    type: str
    mem: str
    shape: tuple[q.Affine, ...]
    dense: bool


def _arrays(proc: q.Proc) -> Mapping[q.Var, _Array]:
    unit = {
        cond.lhs.terms[0][0]
        for cond in proc.asserts
        if isinstance(cond, q.BinOp) and cond.op == "==" and cond.rhs == q.Affine(1)
        if isinstance(cond.lhs, q.Affine) and len(cond.lhs.terms) == 1 and cond.lhs.const == 0
    }
    found = {}
    for arg in proc.args:
        if arg.mem is not None:
            shape = arg.shape or ()
            dense = not arg.window or q.StrideOf(arg.var, len(shape) - 1) in unit
            found[arg.var] = _Array(arg.type, arg.mem, shape, dense)
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc):
            found[stmt.buf] = _Array(stmt.type, stmt.mem, stmt.shape, True)
    return found


def _operand(
    loops: tuple[q.For, q.For | None],
    body: list[q.Assign | q.Reduce],
    buf: q.Var,
    places: list[tuple[q.Affine, ...]],
    array: _Array,
    lanes: int,
) -> tuple[Operand, tuple[q.Affine, ...]] | None:
    """The operand for a buffer accessed at `places`, and the corner of its window (the
    first lane's lowest indices). `loops`: over lanes, and over registers if there are several."""
    first, (loop, outer) = places[0], loops
    if len(first) != len(array.shape) or not array.dense or array.type not in ELEMENTS:
        return None
    writes = [stmt for stmt in body if stmt.buf == buf]
    moves = _moves(first, loop.iter)
    if moves is None or (writes and len(set(places)) > 1):
        return None
    if writes and not moves and (len(places) > 1 or not isinstance(writes[0], q.Reduce)):
        return None
    lows: list[q.Affine] = []
    box: list[int] = []
    for indices in zip(*places, strict=True):
        offsets = [index - first[len(lows)] for index in indices]
        if not all(offset.is_const for offset in offsets):
            return None
        low = min(offset.const for offset in offsets)
        box.append(max(offset.const for offset in offsets) - low + 1)
        lows.append(first[len(lows)] + low)
    if moves:
        lows[-1] = lows[-1] - q.as_affine(loop.iter)
    if any(extent > MAX_SPAN for extent in box):
        return None
    registers = register_of(array.mem) is not None
    if registers:
        whole = moves and lows[-1] == q.Affine(0) and set(box) == {1}
        if register_of(array.mem) != (array.type, lanes) or not whole:
            return None
        if outer and len(lows) > 1 and lows[-2].coefficient(outer.iter) == 1:
            lows[-2] = lows[-2] - q.as_affine(outer.iter)
            box[-2] = outer.extent or 0
    elif not array.mem.startswith("DRAM"):
        return None
    if outer and any(outer.iter in q.expr_vars(low) for low in lows):
        return None
    return Operand(array.type, tuple(box), moves, registers, bool(writes)), tuple(lows)


def _moves(idx: tuple[q.Affine, ...], lane: q.Var) -> bool | None:
    """Whether an access moves by one element per iteration; None if otherwise."""
    used = [d for d, index in enumerate(idx) if lane in q.expr_vars(index)]
    if not used:
        return False
    rest = idx[-1] - q.as_affine(lane)
    return True if used == [len(idx) - 1] and lane not in q.expr_vars(rest) else None


@dataclass(frozen=True)
class _Renaming:
    """From a procedure's names and indices to those of an instruction."""

    order: Mapping[q.Var, int]
    corners: Mapping[q.Var, tuple[q.Affine, ...]]
    variables: Mapping[q.Var, q.Var]

    def stmt(self, stmt: q.Stmt) -> q.Stmt:
        match stmt:
            case q.Assign() | q.Reduce():
                buf, idx = self.access(stmt.buf, stmt.idx)
                return type(stmt)((), buf, idx, self.expr(stmt.rhs), stmt.type)
            case q.Alloc():
                return q.Alloc((), operand(self.order[stmt.buf]), stmt.type, (), "DRAM")
            case _:
                raise AssertionError(stmt)

    def access(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> tuple[q.Var, tuple[q.Affine, ...]]:
        corner = self.corners.get(buf, ())
        within = []
        for index, low in zip(idx, corner, strict=True):
            offset = index - low
            moving = [(new, offset.coefficient(old)) for old, new in self.variables.items()]
            within.append(q.affine(offset.const, tuple(term for term in moving if term[1])))
        return operand(self.order[buf]), tuple(within)

    def expr(self, expr: q.Expr) -> q.Expr:
        match expr:
            case q.Read():
                return q.Read(*self.access(expr.buf, expr.idx), expr.type)
            case q.USub():
                return q.USub(self.expr(expr.arg), "")
            case q.BinOp():
                return q.BinOp(expr.op, self.expr(expr.lhs), self.expr(expr.rhs), "")
            case q.Extern():
                return q.Extern(expr.name, tuple(map(self.expr, expr.args)), "")
            case q.Const():
                return q.Const(expr.value, "")
            case _:
                raise AssertionError(expr)
