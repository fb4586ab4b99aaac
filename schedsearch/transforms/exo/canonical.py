"""Exo procedures in one form: equal C for equal procedures.

Works around 2 to 6 and 9 of `exo/compat.py`.
"""

from __future__ import annotations

from typing import Any

from exo.core.LoopIR import LoopIR, T
from exo.core.prelude import Sym, null_srcinfo
from exo.core.proc_eqv import derive_proc

from schedsearch.analysis.ranges import Ranges, bind_args, bind_loop, bounds
from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import (
    Env,
    call_args,
    is_control,
    shape_of,
    to_affine,
)
from schedsearch.transforms.exo.right_windows import with_right_windows


def canonical(proc: Any) -> Any:
    """LoopIR procedure with canonical local names and index expressions."""
    return Canonicaliser({}).proc(proc)


class Canonicaliser:
    """Copies a LoopIR procedure. Binds in the same order as the mirror does.

    `callees` are copies of its callees, by the original's id.
    """

    def __init__(self, callees: dict[int, Any]) -> None:
        self.env: Env = {}
        self.syms: list[Any] = []
        self.types: dict[int, Any] = {}
        self.callees = callees
        self.ranges: Ranges = {}
        self.configs: dict[str, Any] = {}

    def bind(self, old: Any, name: str) -> Any:
        self.env[old] = q.Var(old.name(), len(self.syms))
        self.syms.append(Sym(name))
        return self.syms[-1]

    def sym(self, old: Any) -> Any:
        return self.syms[self.env[old].uid]

    def proc(self, proc: Any) -> Any:
        if proc.instr is not None:
            return proc  # its text is pasted by argument name
        proc = with_right_windows(proc)
        args = [
            arg.update(type=self.type(arg.type), name=self.bind(arg.name, arg.name.name()))
            for arg in proc.args
        ]
        for old, new in zip(proc.args, args, strict=True):
            self.declare(old.name, new.type)
        bind_args(self.ranges, [(self.env[a.name].uid, a.type is T.size) for a in proc.args])
        preds = [self.expr(pred) for pred in proc.preds]
        return proc.update(args=args, preds=preds, body=self.block(proc.body))

    def callee(self, proc: Any) -> Any:
        if id(proc) not in self.callees:
            copy = Canonicaliser(self.callees).proc(proc)
            if copy is not proc:
                derive_proc(proc, copy)  # Exo's check of parallel loops asks what it stems from
            self.callees[id(proc)] = copy
        return self.callees[id(proc)]

    def block(self, stmts: Any) -> list[Any]:
        return [self.stmt(stmt) for stmt in stmts]

    def stmt(self, s: Any) -> Any:
        match s:
            case LoopIR.Assign() | LoopIR.Reduce():
                idx = [self.expr(i) for i in s.idx]
                return s.update(
                    name=self.sym(s.name), type=self.type(s.type), idx=idx, rhs=self.expr(s.rhs)
                )
            case LoopIR.WriteConfig():
                return s.update(rhs=self.expr(s.rhs))
            case LoopIR.If():
                cond, body = self.expr(s.cond), self.block(s.body)
                return s.update(cond=cond, body=body, orelse=self.block(s.orelse))
            case LoopIR.For():
                lo, hi = self.lift(s.lo), self.lift(s.hi)
                bounds_c = [self.index(lo), self.index(hi)]
                sym = self.bind(s.iter, f"i{len(self.syms)}")
                bind_loop(self.ranges, self.env[s.iter].uid, lo, hi)
                return s.update(iter=sym, lo=bounds_c[0], hi=bounds_c[1], body=self.block(s.body))
            case LoopIR.Alloc():
                typ = self.type(s.type)
                sym = self.bind(s.name, f"t{len(self.syms)}")
                return s.update(name=sym, type=self.declare(s.name, typ))
            case LoopIR.Call():
                args = [self.expr(arg) for arg in call_args(s, self.env)]
                return s.update(f=self.callee(s.f), args=args)
            case LoopIR.WindowStmt():
                rhs = self.expr(s.rhs)
                sym = self.bind(s.name, f"w{len(self.syms)}")
                self.declare(s.name, rhs.type)
                return s.update(name=sym, rhs=rhs)
            case _:
                return s

    def type(self, typ: Any) -> Any:
        if isinstance(typ, LoopIR.Tensor):
            return typ.update(hi=[self.length(extent) for extent in shape_of(typ, self.env)])
        return typ

    def declare(self, old: Any, typ: Any) -> Any:
        self.types[self.env[old].uid] = typ
        return typ

    def access(self, access: Any) -> Any:
        if isinstance(access, LoopIR.Interval):
            return access.update(lo=self.expr(access.lo), hi=self.expr(access.hi))
        return access.update(pt=self.expr(access.pt))

    def expr(self, e: Any) -> Any:
        if is_control(e.type):
            return self.index(self.lift(e))
        match e:
            case LoopIR.Read():
                idx = [self.expr(i) for i in e.idx]
                whole = e.type.is_tensor_or_window()
                typ = self.types[self.env[e.name].uid] if whole else e.type
                return e.update(name=self.sym(e.name), idx=idx, type=typ)
            case LoopIR.USub():
                return self.negated(e)
            case LoopIR.BinOp():
                return e.update(lhs=self.expr(e.lhs), rhs=self.expr(e.rhs))
            case LoopIR.Extern():
                return e.update(args=[self.expr(arg) for arg in e.args])
            case LoopIR.WindowExpr():
                return self.window(e)
            case _:
                return e

    def window(self, e: Any) -> Any:
        idx = [self.access(access) for access in e.idx]
        shape = [
            self.index(self.lift(access.hi) - self.lift(access.lo))
            for access in e.idx
            if isinstance(access, LoopIR.Interval)
        ]
        typ = e.type.update(
            src_type=self.types[self.env[e.name].uid],
            as_tensor=e.type.as_tensor.update(hi=shape),
            src_buf=self.sym(e.name),
            idx=idx,
        )
        return e.update(name=self.sym(e.name), idx=idx, type=typ)

    def negated(self, e: Any) -> Any:
        arg = self.expr(e.arg)
        if isinstance(arg, LoopIR.USub):
            return arg.arg
        if isinstance(arg, LoopIR.Const) and arg.val < 0:
            return arg.update(val=-arg.val)
        return e.update(arg=arg)

    # -- affine normal form and back ----------------------------------------

    def lift(self, e: Any) -> q.Affine:
        self.note(e)
        return to_affine(e, self.env)

    def note(self, e: Any) -> None:
        """Remember what the normal form does not keep: config objects."""
        match e:
            case LoopIR.ReadConfig():
                self.configs[e.config.name()] = e.config
            case LoopIR.BinOp():
                self.note(e.lhs)
                self.note(e.rhs)
            case LoopIR.USub():
                self.note(e.arg)

    def index(self, value: q.Affine) -> Any:
        """Positive terms, then negative ones, then the constant."""
        total: Any = None
        for atom, coefficient in sorted(value.terms, key=lambda term: term[1] < 0):
            if total is None:
                total = _times(self.atom(atom), coefficient)
            else:
                op = "+" if coefficient > 0 else "-"
                total = _binop(op, total, _times(self.atom(atom), abs(coefficient)))
        if total is None:
            return _int(value.const)
        if value.const:
            return _binop("+" if value.const > 0 else "-", total, _int(abs(value.const)))
        return total

    def length(self, extent: q.Affine) -> Any:
        """The extent of an array. Exo multiplies indices by it, without parentheses if it is a
        product: in `i * n % 8` the modulo would come last."""
        match extent:
            case q.Affine(const=0, terms=((q.Mod() as atom, coefficient),)):
                return _times(self.modulo(atom), coefficient)
        return self.index(extent)

    def modulo(self, atom: q.Mod) -> Any:
        """As a difference."""
        floor = self.atom(q.FloorDiv(atom.num, atom.den))
        return _binop("-", self.index(atom.num), _times(floor, atom.den))

    def atom(self, atom: q.Atom) -> Any:
        where = null_srcinfo()
        match atom:
            case q.Var():
                return LoopIR.Read(self.syms[atom.uid], [], T.index, where)
            case q.FloorDiv():
                return _binop("/", self.index(atom.num), _int(atom.den))
            case q.Mod() if bounds(atom.num, self.ranges)[0] >= 0:
                return _binop("%", self.index(atom.num), _int(atom.den))
            case q.Mod():
                return self.modulo(atom)
            case q.StrideOf():
                return LoopIR.StrideExpr(self.syms[atom.buf.uid], atom.dim, T.stride, where)
            case q.ConfigField():
                config = self.configs[atom.config]
                typ = config.lookup_type(atom.field)
                return LoopIR.ReadConfig(config, atom.field, typ, where)


def _int(value: int) -> Any:
    return LoopIR.Const(value, T.int, null_srcinfo())


def _binop(op: str, lhs: Any, rhs: Any) -> Any:
    return LoopIR.BinOp(op, lhs, rhs, T.index, null_srcinfo())


def _times(atom: Any, coefficient: int) -> Any:
    return atom if coefficient == 1 else _binop("*", atom, _int(coefficient))
