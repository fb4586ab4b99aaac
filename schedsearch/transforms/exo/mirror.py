"""Exo procedure -> query AST.

Built from Exo's LoopIR rather than its public cursors: cursors do not show loop
modes, asserts, or which of two equal names is meant. A test checks that the
structure agrees with the cursors, which remain the way to *address* statements.

An operator changes a small part of a procedure, and Exo keeps the nodes of the rest: the mirror
of a node is used again where it would be equal (`SHARED`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from exo.core.LoopIR import LoopIR, T

from schedsearch.analysis.by_identity import ByIdentity, Same
from schedsearch.core import ast as q
from schedsearch.core.build import has_threads
from schedsearch.core.errors import RewriteError

Env = dict[Any, q.Var]
"""Exo symbol -> variable. Symbols hash by identity, so this is only ever looked up."""


def mirror(procedure: Any) -> q.Proc:
    """Query AST of an `exo.API.Procedure`."""
    return mirror_loopir(procedure._loopir_proc)


def mirror_loopir(proc: Any) -> q.Proc:
    """Query AST of a LoopIR procedure.

    Raises NotImplementedError on unknown nodes, RewriteError if something is used that
    nothing binds.
    """
    return _mirrored(Same(proc))


@lru_cache(maxsize=256)
def _mirrored(proc: Same) -> q.Proc:
    """One rewrite asks up to three times, and every call asks for its instruction."""
    return _Mirror().proc(proc.node)


def memory_name(memory: Any) -> str:
    """Its name; `own DRAM_STACK` of a class of the user's that is called as one of Exo's: that name
    says where an array lives, and that it belongs to one thread."""
    name = str(memory.name())
    foreign = name in _OF_EXO and not memory.__module__.startswith("exo.")
    return f"own {name}" if foreign else name


_OF_EXO = ("DRAM", "DRAM_STACK", "DRAM_STATIC", "AVX2", "AVX512", "Neon")


def type_name(typ: Any) -> str:
    """`f32`, `size`, ... of a scalar type, or of the elements of a tensor or window."""
    base = typ.basetype() if typ.is_tensor_or_window() else typ
    return _TYPE_NAMES[type(base)]


_TYPE_NAMES = {
    T.Num: "R",
    T.F16: "f16",
    T.F32: "f32",
    T.F64: "f64",
    T.INT8: "i8",
    T.UINT8: "ui8",
    T.UINT16: "ui16",
    T.INT32: "i32",
    T.Bool: "bool",
    T.Int: "int",
    T.Index: "index",
    T.Size: "size",
    T.Stride: "stride",
}


def _computed_in(kind: str, *sides: q.Expr) -> str:
    """The type in which C computes an expression of Exo's type `kind`. `left_reassociate_expr`
    makes expressions of type R, whatever their operands are, and `set_precision` leaves them so."""
    if kind != "R":
        return kind
    operands = {side.type for side in sides if not isinstance(side, q.Const | q.Affine | q.Window)}
    return operands.pop() if len(operands) == 1 else kind


def is_control(typ: Any) -> bool:
    """Whether values of this type are in affine normal form (integers, not booleans)."""
    return isinstance(typ, T.Int | T.Index | T.Size | T.Stride)


def to_affine(expr: Any, env: Env) -> q.Affine:
    """Affine normal form of a LoopIR control expression."""
    match expr:
        case LoopIR.Read():
            return q.as_affine(env[expr.name])
        case LoopIR.BinOp():
            if linear := _linear(expr):
                const, terms = linear
                return q.affine(const, tuple([(env[sym], factor) for sym, factor in terms]))
            return _binop_affine(expr, to_affine(expr.lhs, env), to_affine(expr.rhs, env))
        case LoopIR.Const():
            return q.Affine(int(expr.val))
        case LoopIR.USub():
            return to_affine(expr.arg, env).scaled(-1)
        case LoopIR.StrideExpr():
            return q.as_affine(q.StrideOf(env[expr.name], expr.dim))
        case LoopIR.ReadConfig():
            kind = type_name(expr.config.lookup_type(expr.field))
            return q.as_affine(q.ConfigField(expr.config.name(), expr.field, kind=kind))
        case _:
            raise NotImplementedError(f"control expression {type(expr).__name__}")


Linear = tuple[int, tuple[tuple[Any, int], ...]]
"""A constant, and symbols with their factors, which may be 0."""

_LINEAR: ByIdentity[Linear | tuple[()]] = ByIdentity(50_000)
"""By LoopIR expression; empty if it is not linear."""


def _linear(expr: Any) -> Linear | tuple[()]:
    """The linear form of an expression, whose variables have other numbers in each procedure."""
    match expr:
        case LoopIR.Read():
            return 0, ((expr.name, 1),)
        case LoopIR.Const():
            return int(expr.val), ()
        case LoopIR.USub():
            return _times(_linear(expr.arg), -1)
        case LoopIR.BinOp():
            known = _LINEAR.get(expr)
            return known if known is not None else _LINEAR.put(expr, _linear_binop(expr))
    return ()


def _linear_binop(expr: Any) -> Linear | tuple[()]:
    lhs, rhs = _linear(expr.lhs), _linear(expr.rhs)
    if not (lhs and rhs):
        return ()
    match expr.op:
        case "+":
            return _sum(lhs, rhs)
        case "-":
            return _sum(lhs, _times(rhs, -1))
        case "*" if not rhs[1]:
            return _times(lhs, rhs[0])
        case "*" if not lhs[1]:
            return _times(rhs, lhs[0])
    return ()


def _sum(one: Linear | tuple[()], other: Linear | tuple[()]) -> Linear | tuple[()]:
    return (one[0] + other[0], (*one[1], *other[1])) if one and other else ()


def _times(value: Linear | tuple[()], factor: int) -> Linear | tuple[()]:
    return (value[0] * factor, tuple([(s, c * factor) for s, c in value[1]])) if value else ()


def shape_of(typ: Any, env: Env) -> tuple[q.Affine, ...]:
    """Lengths of a tensor. Exo leaves loop variables that a rewrite has replaced in types (see
    `exo/compat.py`); in `8 * i + 8 - 8 * i` that does not matter.

    Raises RewriteError if a length depends on a variable that is gone.
    """
    known = _Gone(env)
    shape = tuple(to_affine(extent, known) for extent in typ.shape())
    for var in (var for extent in shape for var in q.expr_vars(extent)):
        if var.uid < 0:
            raise RewriteError(f"Exo leaves a use of {var.name}, which is gone")
    return shape


class _Bound(dict[Any, q.Var]):
    """Variables of symbols; raises RewriteError for those nobody binds."""

    def __missing__(self, sym: Any) -> q.Var:
        raise RewriteError(f"Exo leaves a use of {sym.name()}, which is gone")


class _Gone(dict[Any, q.Var]):
    """Variables of symbols; those nobody binds have negative uids."""

    def __missing__(self, sym: Any) -> q.Var:
        return q.Var(sym.name(), -1 - int(sym._id))


def _binop_affine(expr: Any, lhs: q.Affine, rhs: q.Affine) -> q.Affine:
    match expr.op:
        case "+":
            return lhs + rhs
        case "-":
            return lhs - rhs
        case "*" if rhs.is_const:
            return lhs.scaled(rhs.const)
        case "*" if lhs.is_const:
            return rhs.scaled(lhs.const)
        case "/" if rhs.is_const and rhs.const > 0:
            return q.floor_div(lhs, rhs.const)
        case "%" if rhs.is_const and rhs.const > 0:
            return q.modulo(lhs, rhs.const)
        case _:
            raise NotImplementedError(f"control expression with `{expr.op}`: {expr}")


def call_args(call: Any, env: Env) -> list[Any]:
    """Arguments of a call; windows of one element given to an instruction lie along the
    last dimension, because Exo's `replace` takes any dimension (see `exo/compat.py`)."""
    if call.f.instr is None:
        return list(call.args)
    return [
        _along_last(arg, env) if isinstance(arg, LoopIR.WindowExpr) else arg for arg in call.args
    ]


def _along_last(window: Any, env: Env) -> Any:
    intervals = [n for n, access in enumerate(window.idx) if isinstance(access, LoopIR.Interval)]
    if len(intervals) != 1 or intervals[0] == len(window.idx) - 1:
        return window
    found, last = window.idx[intervals[0]], window.idx[-1]
    if to_affine(found.hi, env) - to_affine(found.lo, env) != q.Affine(1):
        return window
    one = LoopIR.Const(1, T.int, last.srcinfo)
    after = LoopIR.BinOp("+", last.pt, one, T.index, last.srcinfo)
    idx = list(window.idx)
    idx[intervals[0]] = LoopIR.Point(found.lo, found.srcinfo)
    idx[-1] = LoopIR.Interval(last.pt, after, last.srcinfo)
    return window.update(idx=idx)


@lru_cache(maxsize=256)
def _head(*nodes: Same) -> tuple[tuple[q.Arg, ...], tuple[q.Expr, ...]]:
    """Arguments and asserts of a procedure: scheduling seldom changes them."""
    mirror = _Mirror()
    args = [node.node for node in nodes if isinstance(node.node, LoopIR.fnarg)]
    preds = [node.node for node in nodes[len(args) :]]
    return tuple([mirror.arg(arg) for arg in args]), tuple([mirror.expr(pred) for pred in preds])


class _Mirror:
    """One pass over one procedure; `env` and `symbols` grow in binding order."""

    def __init__(self) -> None:
        self.env: Env = _Bound()
        self.symbols: list[Any] = []

    def bind(self, sym: Any) -> q.Var:
        """A new variable, even for a symbol seen before: Exo's fission copies loops
        with their symbols."""
        var = q.Var(sym.name(), len(self.symbols))
        self.symbols.append(sym)
        self.env[sym] = var
        return var

    def proc(self, proc: Any) -> q.Proc:
        args, asserts = _head(*map(Same, proc.args), *map(Same, proc.preds))
        for arg, node in zip(args, proc.args, strict=True):
            self.symbols.append(node.name)
            self.env[node.name] = arg.var
        body = self.block(proc.body, ())
        if proc.instr is None:
            return q.Proc(str(proc.name), args, asserts, body)
        call, threads = proc.instr.c_instr, has_threads(proc.instr.c_global)
        return q.Proc(str(proc.name), args, asserts, body, call, threads)

    def arg(self, arg: Any) -> q.Arg:
        shape = None
        if arg.type.is_tensor_or_window():
            shape = shape_of(arg.type, self.env)
        mem = memory_name(arg.mem) if arg.mem and arg.type.is_numeric() else None
        return q.Arg(self.bind(arg.name), type_name(arg.type), shape, arg.type.is_win(), mem)

    def block(self, stmts: Any, path: q.Path) -> tuple[q.Stmt, ...]:
        return tuple([self.shared(stmt, (*path, i)) for i, stmt in enumerate(stmts)])

    def scope(self, stmts: Any, path: q.Path, *bound: Any) -> tuple[q.Stmt, ...]:
        """A block whose variables, and `bound`, end with it."""
        around = _Bound(self.env)
        for sym in bound:
            self.bind(sym)
        body = self.block(stmts, path)
        self.env = around
        return body

    def shared(self, node: Any, path: q.Path) -> q.Stmt:
        """The statement, the same object as before if it is equal."""
        shared = SHARED.get(node)
        bound = len(self.symbols)
        if shared is not None:
            place = path, bound, tuple([self.env[sym].uid for sym in shared.free])
            if known := shared.at.get(place):
                self.skip(node, known)
                return known
        stmt = self.stmt(node, path)
        if shared is None:
            uids = tuple(sorted([var.uid for var in q.free_vars(stmt)]))
            shared = SHARED.put(node, Shared(tuple([self.symbols[uid] for uid in uids])))
            place = path, bound, uids
        shared.keep(place, stmt)
        return stmt

    def skip(self, node: Any, stmt: q.Stmt) -> None:
        """Bind the variable of a statement. Nothing refers to variables bound in its blocks."""
        self.symbols += [None] * q.bound_count(stmt)
        if var := q.binds(stmt):
            self.symbols[var.uid] = node.name
            self.env[node.name] = var

    def stmt(self, s: Any, path: q.Path) -> q.Stmt:
        match s:
            case LoopIR.Assign() | LoopIR.Reduce():
                kind = q.Assign if isinstance(s, LoopIR.Assign) else q.Reduce
                idx = tuple(to_affine(i, self.env) for i in s.idx)
                return kind(path, self.env[s.name], idx, self.expr(s.rhs), type_name(s.type))
            case LoopIR.WriteConfig():
                typ = type_name(s.config.lookup_type(s.field))
                return q.WriteConfig(path, s.config.name(), s.field, self.expr(s.rhs), typ)
            case LoopIR.Pass():
                return q.Pass(path)
            case LoopIR.If():
                cond = self.expr(s.cond)
                body = self.scope(s.body, path)
                return q.If(path, cond, body, self.scope(s.orelse, (*path, "e")))
            case LoopIR.For():
                lo, hi = to_affine(s.lo, self.env), to_affine(s.hi, self.env)
                parallel = isinstance(s.loop_mode, LoopIR.Par)
                var, body = (
                    q.Var(s.iter.name(), len(self.symbols)),
                    self.scope(s.body, path, s.iter),
                )
                return q.For(path, var, lo, hi, body, parallel)
            case LoopIR.Alloc():
                shape = shape_of(s.type, self.env)
                kind_name, mem = type_name(s.type), memory_name(s.mem)
                return q.Alloc(path, self.bind(s.name), kind_name, shape, mem)
            case LoopIR.Call():
                args = tuple(self.expr(arg) for arg in call_args(s, self.env))
                return q.Call(path, mirror_loopir(s.f), args)
            case LoopIR.WindowStmt():
                window = self.expr(s.rhs)
                assert isinstance(window, q.Window)
                return q.WindowStmt(path, self.bind(s.name), window)
            case _:
                raise NotImplementedError(f"statement {type(s).__name__}")

    def expr(self, e: Any) -> q.Expr:
        if is_control(e.type):
            return to_affine(e, self.env)
        match e:
            case LoopIR.Const():
                return q.Const(e.val, type_name(e.type))
            case LoopIR.Read():
                idx = tuple(to_affine(i, self.env) for i in e.idx)
                return q.Read(self.env[e.name], idx, type_name(e.type))
            case LoopIR.USub():
                arg = self.expr(e.arg)
                return q.USub(arg, _computed_in(type_name(e.type), arg))
            case LoopIR.BinOp():
                lhs, rhs = self.expr(e.lhs), self.expr(e.rhs)
                return q.BinOp(str(e.op), lhs, rhs, _computed_in(type_name(e.type), lhs, rhs))
            case LoopIR.Extern():
                args = tuple(self.expr(arg) for arg in e.args)
                return q.Extern(e.f.name(), args, type_name(e.type))
            case LoopIR.WindowExpr():
                idx_w = tuple(self.access(access) for access in e.idx)
                return q.Window(self.env[e.name], idx_w, type_name(e.type))
            case LoopIR.ReadConfig():
                return q.ReadConfig(e.config.name(), e.field, type_name(e.type))
            case _:
                raise NotImplementedError(f"expression {type(e).__name__}")

    def access(self, access: Any) -> q.Interval | q.Affine:
        if isinstance(access, LoopIR.Interval):
            return q.Interval(to_affine(access.lo, self.env), to_affine(access.hi, self.env))
        return to_affine(access.pt, self.env)


def blocks(stmt: Any) -> tuple[Any, ...]:
    """The blocks of statements in a statement."""
    match stmt:
        case LoopIR.For():
            return (stmt.body,)
        case LoopIR.If():
            return stmt.body, stmt.orelse
        case _:
            return ()


def statements(stmts: Any) -> Iterator[Any]:
    """LoopIR statements and those inside, parents first."""
    for stmt in stmts:
        yield stmt
        for block in blocks(stmt):
            yield from statements(block)


def size_of(stmts: Any) -> tuple[int, int]:
    """How many LoopIR statements there are, with those inside, and how deep they are nested."""
    sizes = [_size(stmt) if blocks(stmt) else (1, 1) for stmt in stmts]
    return sum(count for count, _ in sizes), max((depth for _, depth in sizes), default=0)


def _size(stmt: Any) -> tuple[int, int]:
    known = _SIZES.get(stmt)
    if known is None:
        count, depth = size_of([each for block in blocks(stmt) for each in block])
        known = _SIZES.put(stmt, (count + 1, depth + 1))
    return known


STATEMENTS = 20_000
"""LoopIR statements whose query ASTs are kept: some 2 KB each."""
PLACES = 16
"""Query ASTs kept of one of them: children move and renumber shared nodes in a few ways."""

Place = tuple[q.Path, int, tuple[int, ...]]
"""All that the query AST of a LoopIR statement depends on: its path, how many variables are
bound before it, and the numbers of those it uses."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The mirrors of one LoopIR statement, by place; `free` are the symbols that it uses and does
    not bind."""

    free: tuple[Any, ...]
    at: dict[Place, q.Stmt] = field(default_factory=dict)

    def keep(self, place: Place, stmt: q.Stmt) -> None:
        if len(self.at) >= PLACES:
            self.at.clear()
        self.at[place] = stmt


SHARED: ByIdentity[Shared] = ByIdentity(STATEMENTS)
"""By LoopIR statement."""

_SIZES: ByIdentity[tuple[int, int]] = ByIdentity(STATEMENTS)
"""By loop or branch."""
