"""Accesses outside of arrays and named windows, for which Exo's front end does not look.

Exo 1.0.0 leaves out what is written through a named window, elements read in arguments of
external functions, and whether a named window lies within its array (see `exo/compat.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from schedsearch.analysis import solver
from schedsearch.analysis.solver import NoTerm
from schedsearch.core import ast as q
from schedsearch.core.text import show_access


@dataclass(frozen=True)
class _View:
    """An array, or a window of one. `place` has the first index, or the only one, in each
    dimension of the array, and whether the window keeps the dimension."""

    name: str
    lengths: tuple[Any, ...]
    array: _View | None = None
    place: tuple[tuple[Any, bool], ...] = ()

    def without(self, idx: Sequence[Any]) -> Iterator[tuple[_View, Any]]:
        """Conditions on which an element is outside, of the window and of the array."""
        if idx:
            within = [z3.And(i >= 0, i < n) for i, n in zip(idx, self.lengths, strict=True)]
            yield self, z3.Not(z3.And(within))
        if self.array:
            kept = iter(idx)
            inner = [start + next(kept) if open_ else start for start, open_ in self.place]
            yield from self.array.without(inner)


def out_of_bounds(proc: q.Proc, every: bool = False) -> str | None:
    """A sentence on an access outside of its array or named window, with values for which it
    happens; None if there is none, or none that can be shown. `every`: of all accesses, those that
    Exo's front end looks at included.

    Decided by z3, with asserts, sizes, loops and branches as they are. Nothing is said about
    what depends on strides or configuration fields.
    """
    search = _Search(z3.Solver(), every)
    for arg in proc.args:
        search.argument(arg)
    windows = {arg.var for arg in proc.args if arg.window}
    try:
        for condition in proc.asserts:
            if not q.expr_vars(condition) <= windows:  # strides of windows are free
                search.solver.add(search.truth(condition))
    except NoTerm:
        return None
    return search.first(proc.body)


@dataclass
class _Search:
    """One procedure: values of its control variables, views of its arrays."""

    solver: Any
    every: bool
    values: dict[q.Var, Any] = field(default_factory=dict)
    views: dict[q.Var, _View] = field(default_factory=dict)
    shown: list[Any] = field(default_factory=list)

    def argument(self, arg: q.Arg) -> None:
        if arg.shape is not None or arg.type not in q.CONTROL_TYPES:
            shape = tuple(map(self.integer, arg.shape or ()))
            self.views[arg.var] = _View(arg.var.name, shape)
        elif arg.type == "bool":
            self.values[arg.var] = z3.Bool(arg.var.name)
        else:
            self.named(arg.var)
            self.solver.add(self.values[arg.var] >= (1 if arg.type == "size" else -(2**31)))

    def named(self, var: q.Var) -> None:
        self.values[var] = z3.FreshInt(var.name)
        self.shown.append((var.name, self.values[var]))

    def first(self, body: Iterable[q.Stmt]) -> str | None:
        found = None
        for stmt in body:
            try:
                found = self.here(stmt) or self.inside(stmt)
            except NoTerm:
                continue
            if found:
                break
        return found

    def here(self, stmt: q.Stmt) -> str | None:
        """An access of the statement itself."""
        if isinstance(stmt, q.Assign | q.Reduce):
            places = [(stmt.buf, stmt.idx, False), *_reads(stmt.rhs)]
        else:
            exprs = () if isinstance(stmt, q.Call | q.WindowStmt) else q.stmt_exprs(stmt)
            places = [read for expr in exprs for read in _reads(expr)]
        for buf, idx, external in places:
            view = self.view(buf)
            if self.every or external or view.array:
                for part, condition in view.without([self.integer(i) for i in idx]):
                    if self.solver.check(condition) == z3.sat:
                        return self.sentence(show_access(buf, idx), part)
        return None

    def inside(self, stmt: q.Stmt) -> str | None:
        """An access in a statement of its blocks, or in a procedure that it calls. Also binds
        what the statement binds."""
        match stmt:
            case q.Alloc():
                self.views[stmt.buf] = _View(stmt.buf.name, tuple(map(self.integer, stmt.shape)))
            case q.WindowStmt():
                self.views[stmt.name] = self.window(stmt.window, stmt.name.name)
            case q.For():
                lo, hi = self.integer(stmt.lo), self.integer(stmt.hi)
                self.named(stmt.iter)
                value = self.values[stmt.iter]
                found = self.given([z3.And(lo <= value, value < hi)], stmt.body)
                self.shown.pop()
                return found
            case q.If():
                condition = self.truth(stmt.cond)
                return self.given([condition], stmt.body) or self.given(
                    [z3.Not(condition)], stmt.orelse
                )
            case q.Call():
                return self.called(stmt).first(stmt.proc.body)
        return None

    def given(self, facts: list[Any], body: Iterable[q.Stmt]) -> str | None:
        self.solver.push()
        self.solver.add(*facts)
        found = self.first(body)
        self.solver.pop()
        return found

    def called(self, call: q.Call) -> _Search:
        """The procedure called, in terms of what it is given."""
        callee = _Search(self.solver, self.every, shown=list(self.shown))
        for arg, actual in zip(call.proc.args, call.args, strict=True):
            match actual:
                case q.Affine():
                    callee.values[arg.var] = self.integer(actual)
                    callee.shown.append((arg.var.name, callee.values[arg.var]))
                case q.Window():
                    callee.views[arg.var] = self.window(actual, arg.var.name)
                case q.Read() if arg.type != "bool":
                    callee.views[arg.var] = self.view(actual.buf)
                case _:
                    callee.values[arg.var] = self.truth(actual)
        return callee

    def view(self, buf: q.Var) -> _View:
        if buf not in self.views:
            raise NoTerm  # a window whose place has no term
        return self.views[buf]

    def window(self, window: q.Window, name: str) -> _View:
        lengths, place = [], []
        for part in window.idx:
            if isinstance(part, q.Interval):
                lengths.append(self.integer(part.hi - part.lo))
                place.append((self.integer(part.lo), True))
            else:
                place.append((self.integer(part), False))
        return _View(name, tuple(lengths), self.view(window.buf), tuple(place))

    def sentence(self, access: str, view: _View) -> str:
        """To be called while the solver has a model."""
        model = self.solver.model()
        values = [f"{name} = {model.eval(value, True)}" for name, value in self.shown]
        lengths = ", ".join(str(model.eval(length, True)) for length in view.lengths)
        example = f" where {', '.join(values)}" if values else ""
        return f"{access} is outside of {view.name}, of shape [{lengths}]{example}"

    # -- translation ---------------------------------------------------------

    def integer(self, value: q.Affine) -> Any:
        return solver.integer(value, self.atom)

    def atom(self, atom: q.Leaf) -> Any:
        if not isinstance(atom, q.Var) or atom not in self.values:
            raise NoTerm
        return self.values[atom]

    def truth(self, expr: q.Expr) -> Any:
        return solver.truth(expr, self.atom, self.boolean)

    def boolean(self, expr: q.Read | q.ReadConfig) -> Any:
        if isinstance(expr, q.ReadConfig):
            raise NoTerm
        return self.atom(expr.buf)


def _reads(
    expr: q.Expr | q.Interval | q.Atom, external: bool = False
) -> Iterator[tuple[q.Var, tuple[q.Affine, ...], bool]]:
    """Elements read, and whether in arguments of an external function."""
    if isinstance(expr, q.Read) and expr.type not in q.CONTROL_TYPES:
        yield expr.buf, expr.idx, external
    for part in q.sub_exprs(expr):
        yield from _reads(part, external or isinstance(expr, q.Extern))
