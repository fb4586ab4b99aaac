"""Everything that works around Exo 1.0.0, and nothing else.

Each workaround is named here and has a test in `tests/transforms/test_exo_compat.py`
that fails once Exo no longer needs it:

1. An illegal rewrite raises many kinds of exception  -> `EXO_ERRORS`.
2. Generated C differs between processes, because symbols hash by address and
   index terms pass through sets                      -> `canonical` fixes term order.
3. `x[5 * (i % 2)]` loses its parentheses              -> `canonical` puts the atom first.
4. `%` of a negative value follows C, not Exo          -> `canonical` divides instead.
5. A constant division in an index becomes a float,
   `0 % n` stops the compiler                          -> folded by the normal form.
6. `-(-x)` is printed as C's decrement `--x`           -> folded by `canonical`.
"""

from __future__ import annotations

from typing import Any

from exo.backend.LoopIR_compiler import compile_to_strings
from exo.core.internal_cursors import InvalidCursorError
from exo.core.LoopIR import LoopIR, T
from exo.core.memory import MemGenError
from exo.core.prelude import Sym, null_srcinfo
from exo.frontend.parse_fragment import ParseFragmentError
from exo.rewrite.new_eff import SchedulingError
from z3.z3types import Z3Exception

from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.mirror import Env, is_control, to_affine
from schedsearch.transforms.ranges import Ranges, bind_args, bind_loop, bounds

EXO_ERRORS: tuple[type[Exception], ...] = (
    SchedulingError,
    InvalidCursorError,
    MemGenError,
    ParseFragmentError,
    Z3Exception,
    TypeError,
    ValueError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    KeyError,
    IndexError,
    AttributeError,
)
"""What Exo raises when a rewrite is illegal or not supported. Catch only around
calls of Exo: several are also ordinary programming errors."""

LIBRARY = "kernel"
"""Exo's library name: the context struct is `kernel_Context` in every kernel."""


def generate_c(procedure: Any) -> GeneratedC:
    """Canonical C of a procedure: equal for procedures equal up to local names and
    the order of index terms, in any process.

    Raises CodegenError with Exo's reason.
    """
    try:
        proc = canonical(procedure._loopir_proc)
        header, source = compile_to_strings(LIBRARY, [proc])
    except EXO_ERRORS as error:
        raise CodegenError(f"{type(error).__name__}: {error}") from error
    return GeneratedC(str(proc.name), header, source, digest(f"{header}\n{source}"))


def canonical(proc: Any) -> Any:
    """LoopIR procedure with canonical local names and index expressions."""
    return _Canonicaliser({}).proc(proc)


class _Canonicaliser:
    """Copies a LoopIR procedure. Binds in the same order as the mirror does."""

    def __init__(self, callees: dict[int, Any]) -> None:
        self.env: Env = {}
        self.syms: list[Any] = []
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
        args = [
            arg.update(type=self.type(arg.type), name=self.bind(arg.name, arg.name.name()))
            for arg in proc.args
        ]
        bind_args(self.ranges, [(self.env[a.name].uid, a.type is T.size) for a in proc.args])
        preds = [self.expr(pred) for pred in proc.preds]
        return proc.update(args=args, preds=preds, body=self.block(proc.body))

    def callee(self, proc: Any) -> Any:
        if id(proc) not in self.callees:
            self.callees[id(proc)] = _Canonicaliser(self.callees).proc(proc)
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
                return s.update(name=self.bind(s.name, f"t{len(self.syms)}"), type=typ)
            case LoopIR.Call():
                args = [self.expr(arg) for arg in s.args]
                return s.update(f=self.callee(s.f), args=args)
            case LoopIR.WindowStmt():
                rhs = self.expr(s.rhs)
                return s.update(name=self.bind(s.name, f"w{len(self.syms)}"), rhs=rhs)
            case _:
                return s

    def type(self, typ: Any) -> Any:
        match typ:
            case LoopIR.Tensor():
                return typ.update(hi=[self.expr(extent) for extent in typ.hi])
            case LoopIR.WindowType():
                return typ.update(
                    src_type=self.type(typ.src_type),
                    as_tensor=self.type(typ.as_tensor),
                    src_buf=self.sym(typ.src_buf),
                    idx=[self.access(access) for access in typ.idx],
                )
            case _:
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
                return e.update(name=self.sym(e.name), idx=idx, type=self.type(e.type))
            case LoopIR.USub():
                return self.negated(e)
            case LoopIR.BinOp():
                return e.update(lhs=self.expr(e.lhs), rhs=self.expr(e.rhs))
            case LoopIR.Extern():
                return e.update(args=[self.expr(arg) for arg in e.args])
            case LoopIR.WindowExpr():
                idx = [self.access(access) for access in e.idx]
                return e.update(name=self.sym(e.name), idx=idx, type=self.type(e.type))
            case _:
                return e

    def negated(self, e: Any) -> Any:
        arg = self.expr(e.arg)
        if isinstance(arg, LoopIR.USub):
            return arg.arg
        if isinstance(arg, LoopIR.Const) and arg.val < 0:
            return arg.update(val=-arg.val)
        return e.update(arg=arg)

    # -- affine normal form and back ----------------------------------------

    def lift(self, e: Any) -> q.Affine:
        self.note_configs(e)
        return to_affine(e, self.env)

    def note_configs(self, e: Any) -> None:
        """Remember config objects: the normal form keeps only their names."""
        match e:
            case LoopIR.ReadConfig():
                self.configs[e.config.name()] = e.config
            case LoopIR.BinOp():
                self.note_configs(e.lhs)
                self.note_configs(e.rhs)
            case LoopIR.USub():
                self.note_configs(e.arg)

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
                floor = self.atom(q.FloorDiv(atom.num, atom.den))
                return _binop("-", self.index(atom.num), _times(floor, atom.den))
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
