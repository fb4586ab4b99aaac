"""Calls and windows resolved: the form the analyses of this package work on.

The result has no `Call` and no `WindowStmt`; every access names an argument or an
allocation, and uids are unique over the former callees.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from schedsearch.analysis.windows import View
from schedsearch.core import ast as q


@dataclass
class _Scope:
    """Meaning of the uids of one procedure (each has its own numbering)."""

    control: dict[int, q.Affine] = field(default_factory=dict)
    views: dict[int, View] = field(default_factory=dict)
    booleans: dict[int, q.Expr] = field(default_factory=dict)


def inline_calls(proc: q.Proc) -> q.Proc:
    """`proc` with its callees' bodies in place of calls, and windows resolved."""
    scope = _Scope()
    for arg in proc.args:
        _bind_argument(scope, arg, arg.var)
    inliner = _Inliner(count(len(proc.args)))
    return replace(proc, body=inliner.block(proc.body, scope))


def _bind_argument(scope: _Scope, arg: q.Arg, var: q.Var) -> None:
    if arg.type == "bool":
        scope.booleans[arg.var.uid] = q.Read(var, (), "bool")
    elif arg.type in q.CONTROL_TYPES:
        scope.control[arg.var.uid] = q.as_affine(var)
    else:
        scope.views[arg.var.uid] = View(var)


class _Inliner:
    def __init__(self, uids: count[int]) -> None:
        self.uids = uids

    def fresh(self, var: q.Var) -> q.Var:
        return q.Var(var.name, next(self.uids))

    def block(self, body: tuple[q.Stmt, ...], scope: _Scope) -> tuple[q.Stmt, ...]:
        return tuple(out for stmt in body for out in self.stmt(stmt, scope))

    def stmt(self, stmt: q.Stmt, scope: _Scope) -> tuple[q.Stmt, ...]:
        match stmt:
            case q.Assign() | q.Reduce():
                buf, idx = _access(stmt.buf, stmt.idx, scope)
                return (replace(stmt, buf=buf, idx=idx, rhs=_expr(stmt.rhs, scope)),)
            case q.WriteConfig():
                return (replace(stmt, rhs=_expr(stmt.rhs, scope)),)
            case q.If():
                body, orelse = self.block(stmt.body, scope), self.block(stmt.orelse, scope)
                return (q.If(stmt.path, _expr(stmt.cond, scope), body, orelse),)
            case q.For():
                lo, hi = _affine(stmt.lo, scope), _affine(stmt.hi, scope)
                var = self.fresh(stmt.iter)
                scope.control[stmt.iter.uid] = q.as_affine(var)
                body = self.block(stmt.body, scope)
                return (q.For(stmt.path, var, lo, hi, body, stmt.parallel),)
            case q.Alloc():
                var = self.fresh(stmt.buf)
                scope.views[stmt.buf.uid] = View(var)
                shape = tuple(_affine(extent, scope) for extent in stmt.shape)
                return (replace(stmt, buf=var, shape=shape),)
            case q.WindowStmt():
                scope.views[stmt.name.uid] = _window(stmt.window, scope)
                return ()
            case q.Call():
                return self.call(stmt, scope)
            case q.Pass():
                return (stmt,)

    def call(self, call: q.Call, caller: _Scope) -> tuple[q.Stmt, ...]:
        """The body of the callee. An argument that reads a field which the callee sets keeps its
        value, as the variable of a loop that runs once: `for k in seq(Cfg.n, Cfg.n + 1): ...`."""
        scope = _callee_scope(call, caller)
        body = self.block(call.proc.body, scope)
        fields = {(s.config, s.field) for s in q.walk(body) if isinstance(s, q.WriteConfig)}
        given = {uid: value for uid, value in scope.control.items() if _fields(value) & fields}
        named = {arg.var.uid: arg.var for arg in call.proc.args}
        kept = {uid: self.fresh(named[uid]) for uid in given if uid in named}
        if kept:
            scope = _callee_scope(call, caller)
            scope.control |= {uid: q.as_affine(var) for uid, var in kept.items()}
            body = self.block(call.proc.body, scope)
        for uid, var in kept.items():
            body = (q.For(call.path, var, given[uid], given[uid] + 1, body, False),)
        return body


def _fields(value: q.Affine) -> set[tuple[str, str]]:
    """The fields of the configuration in a control value."""
    nodes = q.walk_expr(value)
    return {(node.config, node.field) for node in nodes if isinstance(node, q.ConfigField)}


def _callee_scope(call: q.Call, caller: _Scope) -> _Scope:
    scope = _Scope()
    for arg, actual in zip(call.proc.args, call.args, strict=True):
        match actual:
            case q.Affine():
                scope.control[arg.var.uid] = _affine(actual, caller)
            case q.Window():
                scope.views[arg.var.uid] = _window(actual, caller)
            case q.Read() if arg.type != "bool" and not actual.idx:
                scope.views[arg.var.uid] = caller.views[actual.buf.uid]
            case q.Read() if arg.type != "bool":
                scope.views[arg.var.uid] = _window(
                    q.Window(actual.buf, actual.idx, actual.type), caller
                )
            case _:
                scope.booleans[arg.var.uid] = _expr(actual, caller)
    return scope


def _window(window: q.Window, scope: _Scope) -> View:
    own = (
        q.Interval(_affine(index.lo, scope), _affine(index.hi, scope))
        if isinstance(index, q.Interval)
        else _affine(index, scope)
        for index in window.idx
    )
    return scope.views[window.buf.uid].at(own)


def _access(
    buf: q.Var, idx: tuple[q.Affine, ...], scope: _Scope
) -> tuple[q.Var, tuple[q.Affine, ...]]:
    view = scope.views[buf.uid].at(_affine(index, scope) for index in idx)
    return view.buf, tuple(index for index in view.idx or () if isinstance(index, q.Affine))


def _affine(value: q.Affine, scope: _Scope) -> q.Affine:
    def leaf(atom: q.Leaf) -> q.Affine:
        match atom:
            case q.Var():
                return scope.control[atom.uid]
            case q.StrideOf():
                view = scope.views[atom.buf.uid]
                return q.as_affine(q.StrideOf(view.buf, view.dim(atom.dim)))
            case q.ConfigField():
                return q.as_affine(atom)

    return q.substituted(value, leaf)


def _expr(expr: q.Expr, scope: _Scope) -> q.Expr:
    match expr:
        case q.Affine():
            return _affine(expr, scope)
        case q.Read() if expr.buf.uid in scope.booleans:
            return scope.booleans[expr.buf.uid]
        case q.Read():
            buf, idx = _access(expr.buf, expr.idx, scope)
            return q.Read(buf, idx, expr.type)
        case q.USub():
            return replace(expr, arg=_expr(expr.arg, scope))
        case q.BinOp():
            return replace(expr, lhs=_expr(expr.lhs, scope), rhs=_expr(expr.rhs, scope))
        case q.Extern():
            return replace(expr, args=tuple(_expr(arg, scope) for arg in expr.args))
        case q.Window() | q.Const() | q.ReadConfig():
            return expr
