"""Everything that works around Exo 1.0.0, and nothing else.

Each workaround is named here and has a test in `tests/transforms/test_exo_compat.py`
that fails once Exo no longer needs it:

1. An illegal rewrite raises many kinds of exception  -> `EXO_ERRORS`.
2. Generated C differs between processes, because symbols hash by address, index
   terms and callees pass through sets                -> `canonical` fixes term order,
   `generate_c` that of instructions.
3. `x[5 * (i % 2)]` loses its parentheses              -> `canonical` puts the atom first.
4. `%` of a negative value follows C, not Exo          -> `canonical` divides instead.
5. A constant division in an index becomes a float,
   `0 % n` stops the compiler                          -> folded by the normal form.
6. `-(-x)` is printed as C's decrement `--x`           -> folded by `canonical`.
7. `simplify` drops `% m` of what is below `m` but may
   be negative                                         -> `unsound` refuses.
8. z3 may never answer                                 -> `SOLVER_STEPS`.
9. Types of windows keep index variables that a rewrite
   has replaced since                                  -> `canonical` derives them anew.
10. `remove_loop` takes `hi > 0` for "runs at all"      -> refused by `unsound` unless
   the loop starts at 0.
11. `replace` makes `a[i, k]` the window `a[i:i+1, k]` or
   `a[i, k:k+1]`, as it happens                       -> `call_args` takes the last dimension.
12. `parallelize_loop` accepts races                   -> refused by `unsound`, and wherever
   else one comes from by `registry.carry_out`; what races is decided in `races.py`.
13. `replace` ignores the asserts of an instruction     -> refused by `unsound_result` unless
   they can be shown to hold (`asserts.py`).
14. `fission` moves `s = 0` away from `s += x`           -> its check is replaced
   (`exo_fission.py`).
15. Shapes of arrays keep index variables that a rewrite
   has replaced since                                   -> `mirror.shape_of` drops those that
   cancel; others are refused by `registry.carry_out`.
16. Checks take a named window (`w = x[2:6]`) for other
   memory than `x`                                      -> while both are used and written,
   `unsound` refuses all operators but those of `ORDER_KEPT`; `inline_window` is one.
17. `inline_assign` replaces what is called the same     -> refused by `unsound` where another
   element is.
18. The front end checks no bounds of writes through
   named windows, of calls that are given one, and of
   reads in arguments of external functions             -> `outside`, asked by `loader.pick`.
19. A window of a named window ends the front end with
   an AttributeError                                    -> `explanation` says what is wrong.
20. `lift_scope` of an `if` without `else` out of one that
   has one forgets the other branch                     -> refused by `unsound`.
21. yapf, which prints for Exo, may find its cached
   grammar cut short                                    -> `yapf_grammar` has it made again.
"""

from __future__ import annotations

from typing import Any

import z3
from exo.backend.LoopIR_compiler import compile_to_strings
from exo.core.internal_cursors import InvalidCursorError
from exo.core.LoopIR import LoopIR, T
from exo.core.memory import MemGenError
from exo.core.prelude import Sym, null_srcinfo
from exo.core.proc_eqv import derive_proc
from exo.frontend.parse_fragment import ParseFragmentError
from exo.frontend.pyparser import ParseError
from exo.rewrite.LoopIR_unification import UnificationError
from exo.rewrite.new_eff import SchedulingError
from z3.z3types import Z3Exception

from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.errors import CodegenError
from schedsearch.core.records import GeneratedC
from schedsearch.transforms import exo_fission, exo_speed
from schedsearch.transforms.aliases import aliased
from schedsearch.transforms.asserts import broken_assert
from schedsearch.transforms.exo_speed.facts import blocks
from schedsearch.transforms.generated import with_build
from schedsearch.transforms.mirror import Env, call_args, is_control, mirror, shape_of, to_affine
from schedsearch.transforms.races import conflict
from schedsearch.transforms.ranges import Ranges, bind_args, bind_loop, bounds
from schedsearch.transforms.walkers import next_path

EXO_ERRORS: tuple[type[Exception], ...] = (
    SchedulingError,
    SyntaxError,
    InvalidCursorError,
    MemGenError,
    ParseFragmentError,
    ParseError,
    UnificationError,
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

SOLVER_STEPS = 10_000_000
"""z3's resource limit for one question, a few seconds; Exo then reports that it cannot
tell. Counted in z3's own steps rather than time, so that every machine agrees."""

z3.set_param("rlimit", SOLVER_STEPS)
z3.set_param("ctrl_c", False)  # z3 would take a Ctrl-C for itself and answer "unknown"
exo_fission.install()  # before it is made faster
exo_speed.install()
exo_speed.collect_rarely()

ORDER_KEPT = {"inline", "inline_window", "set_memory", "simplify", "delete_pass", "specialize"}
ORDER_KEPT |= {"cut_loop", "divide_loop", "shift_loop", "unroll_loop"}
"""Operators after which every element is accessed in the order it was before."""

LIBRARY = "kernel"
"""Exo's library name: the context struct is `kernel_Context` in every kernel."""


def generate_c(procedure: Any, build: Build = DEFAULT_BUILD) -> GeneratedC:
    """Canonical C of a procedure: equal for procedures equal up to local names and
    the order of index terms, in any process; and how to compile it.

    Raises CodegenError with Exo's reason.
    """
    canonicaliser = _Canonicaliser({})
    proc = canonicaliser.proc(procedure._loopir_proc)
    # Exo walks callees in the order of their addresses: instructions are given sorted.
    instructions = [callee for callee in canonicaliser.callees.values() if callee.instr]
    instructions.sort(key=lambda callee: str(callee.name))
    try:
        header, source = compile_to_strings(LIBRARY, [*instructions, proc])
    except EXO_ERRORS as error:
        raise CodegenError(f"{type(error).__name__}: {error}") from error
    return with_build(str(proc.name), header, source, build)


def explanation(error: BaseException) -> str | None:
    """What an error of Exo's front end means that does not say it; None for all others."""
    if isinstance(error, AttributeError) and isinstance(error.obj, T.Window):
        return (
            "Exo cannot make a window of a named window (w = x[0:4], then w[1:3], or w[1] where w "
            "has two dimensions); make it of the array"
        )
    return None


def unsound(procedure: Any, operator: str, path: q.Path) -> str | None:
    """Why the result of an operator at a statement would be wrong although Exo accepts it;
    None if Exo's own check can be trusted."""
    if operator not in ORDER_KEPT and _has_windows(procedure._loopir_proc.body):
        names = aliased(mirror(procedure))
        if names:
            return f"Exo does not see that {names} share elements"
    if operator == "simplify" and _simplify_drops_modulo(procedure):
        return "Exo would drop the `%` of a negative value"
    if operator == "remove_loop":
        loop = mirror(procedure).by_path[path]
        if isinstance(loop, q.For) and loop.lo != q.Affine(0):
            return "Exo tells whether a loop runs at all only if it starts at 0"
    if operator == "inline_assign" and _called_alike(mirror(procedure), path):
        return "Exo finds what to replace by its name, and another element is called so too"
    if operator == "lift_scope" and _loses_branch(mirror(procedure), path):
        return "Exo would leave out the other branch where the condition does not hold"
    if operator == "parallelize_loop":
        ast = mirror(procedure)
        loop = ast.by_path[path]
        return conflict(ast, loop) if isinstance(loop, q.For) else None
    return None


def unsound_result(procedure: Any, operator: str, path: q.Path) -> str | None:
    """The same for what only the result shows; `path` is where the operator was applied."""
    return broken_assert(mirror(procedure), path) if operator == "replace" else None


def _called_alike(proc: q.Proc, path: q.Path) -> bool:
    """Whether the name of what the statement at `path` assigns is, further on in its block,
    also that of another element: of another buffer, or with other variables of those names."""
    stmt = proc.by_path[path]
    if not isinstance(stmt, q.Assign):
        return False
    after = []
    while (path := next_path(path)) in proc.by_path:
        after.append(proc.by_path[path])
    return any(
        read.buf.name == stmt.buf.name
        and (
            read.buf != stmt.buf  # with any index: Exo compares as many as both have
            or (read.idx != stmt.idx and [*map(_names, read.idx)] == [*map(_names, stmt.idx)])
        )
        for later in q.walk(tuple(after))
        for expr in q.stmt_exprs(later)
        for read in q.walk_expr(expr)
        if isinstance(read, q.Read)
    )


def _loses_branch(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` is an `if` without `else`, in an `if` with one."""
    inner = proc.by_path[path]
    outer = proc.by_path.get(path[:-2] if path[-2:-1] == ("e",) else path[:-1])
    if not (isinstance(inner, q.If) and isinstance(outer, q.If)):
        return False
    return bool(outer.orelse) and not inner.orelse


def _names(index: q.Affine) -> list[str]:
    return sorted(var.name for var in q.expr_vars(index))


def _has_windows(stmts: Any) -> bool:
    """Whether there is a named window: cheaper than a query AST that has none."""
    return any(
        isinstance(stmt, LoopIR.WindowStmt) or any(map(_has_windows, blocks(stmt)))
        for stmt in stmts
    )


def _simplify_drops_modulo(procedure: Any) -> bool:
    """Whether Exo's `simplify` would take `e % m` for `e` where `e` may be negative:
    it compares only the upper bound of `e` with `m`."""
    canonicaliser = _Canonicaliser({})
    canonicaliser.proc(procedure._loopir_proc)
    return canonicaliser.drops_modulo


def canonical(proc: Any) -> Any:
    """LoopIR procedure with canonical local names and index expressions."""
    return _Canonicaliser({}).proc(proc)


class _Canonicaliser:
    """Copies a LoopIR procedure. Binds in the same order as the mirror does."""

    def __init__(self, callees: dict[int, Any]) -> None:
        self.env: Env = {}
        self.syms: list[Any] = []
        self.types: dict[int, Any] = {}
        self.callees = callees
        self.ranges: Ranges = {}
        self.configs: dict[str, Any] = {}
        self.drops_modulo = False

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
        for old, new in zip(proc.args, args, strict=True):
            self.declare(old.name, new.type)
        bind_args(self.ranges, [(self.env[a.name].uid, a.type is T.size) for a in proc.args])
        preds = [self.expr(pred) for pred in proc.preds]
        return proc.update(args=args, preds=preds, body=self.block(proc.body))

    def callee(self, proc: Any) -> Any:
        if id(proc) not in self.callees:
            copy = _Canonicaliser(self.callees).proc(proc)
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
            return typ.update(hi=[self.index(extent) for extent in shape_of(typ, self.env)])
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
        """Remember what the normal form does not keep: config objects, and numerators
        of `%` as written."""
        match e:
            case LoopIR.ReadConfig():
                self.configs[e.config.name()] = e.config
            case LoopIR.BinOp():
                self.note(e.lhs)
                self.note(e.rhs)
                if e.op == "%":
                    self.note_modulo(to_affine(e.lhs, self.env), e.rhs.val)
            case LoopIR.USub():
                self.note(e.arg)

    def note_modulo(self, num: q.Affine, den: int) -> None:
        terms = tuple((atom, c) for atom, c in num.terms if c % den)
        low, high = bounds(q.Affine(num.const if num.const % den else 0, terms), self.ranges)
        self.drops_modulo |= low < 0 and high < den

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
