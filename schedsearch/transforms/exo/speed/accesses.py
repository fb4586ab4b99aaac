"""Which elements of which buffers statements of a LoopIR procedure access."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from exo.core.LoopIR import LoopIR

from schedsearch.analysis import independence
from schedsearch.core import ast as q
from schedsearch.transforms.exo.speed.facts import Facts, Undecided, value_of, variable

READ, REDUCE, WRITE = "read", "reduce", "write"


@dataclass(frozen=True)
class Access:
    """First and last index per dimension, and what is known there."""

    kind: str
    box: independence.Box
    facts: Facts


@dataclass
class Accesses:
    """Accesses by buffer. `inner`: variables bound on the way; `local`: buffers allocated."""

    facts: Facts
    of: dict[q.Var, list[Access]] = field(default_factory=dict)
    inner: set[q.Var] = field(default_factory=set)
    local: set[q.Var] = field(default_factory=set)

    def block(self, stmts: Any) -> None:
        """Raises Undecided at statements that do more than access elements."""
        for stmt in stmts:
            self.stmt(stmt)

    def stmt(self, stmt: Any) -> None:
        match stmt:
            case LoopIR.Assign() | LoopIR.Reduce():
                self.expr(stmt.rhs)
                kind = WRITE if isinstance(stmt, LoopIR.Assign) else REDUCE
                self.touch(stmt.name, kind, [_point(index) for index in stmt.idx])
            case LoopIR.For():
                self.inner.add(variable(stmt.iter))
                with self.facts.inside(stmt):
                    self.block(stmt.body)
            case LoopIR.If():
                self.expr(stmt.cond)
                self.block(stmt.body)
                self.block(stmt.orelse)
            case LoopIR.Alloc():
                self.local.add(variable(stmt.name))
            case LoopIR.Call():
                self.call(stmt)
            case LoopIR.Pass():
                pass
            case _:
                raise Undecided

    def expr(self, expr: Any) -> None:
        match expr:
            case LoopIR.Read() if expr.type.is_real_scalar():
                self.touch(expr.name, READ, [_point(index) for index in expr.idx])
            case LoopIR.BinOp():
                self.expr(expr.lhs)
                self.expr(expr.rhs)
            case LoopIR.USub():
                self.expr(expr.arg)
            case LoopIR.Extern():
                for arg in expr.args:
                    self.expr(arg)
            case LoopIR.Const() | LoopIR.StrideExpr():
                pass
            case LoopIR.Read() if not expr.type.is_numeric():
                pass
            case _:
                raise Undecided

    def call(self, call: Any) -> None:
        """A call accesses, at most, all of the windows it is given."""
        kinds = _kinds(call.f)
        for arg, value in zip(call.f.args, call.args, strict=True):
            if isinstance(value, LoopIR.WindowExpr):
                self.touch(value.name, kinds[arg.name], [_extent(access) for access in value.idx])
            elif arg.type.is_numeric():
                raise Undecided
            else:
                self.expr(value)

    def touch(self, sym: Any, kind: str, box: list[tuple[q.Affine, q.Affine]]) -> None:
        access = Access(kind, tuple(box), self.facts.copy())
        self.of.setdefault(variable(sym), []).append(access)


def _point(index: Any) -> tuple[q.Affine, q.Affine]:
    value = value_of(index)
    return value, value


def _extent(access: Any) -> tuple[q.Affine, q.Affine]:
    if isinstance(access, LoopIR.Interval):
        return value_of(access.lo), value_of(access.hi) - 1
    return _point(access.pt)


def _kinds(proc: Any) -> dict[Any, str]:
    """What a procedure of plain loops does with its arguments; raises Undecided for others."""
    found = Accesses(Facts())
    found.block(proc.body)
    kinds = {}
    for arg in proc.args:
        seen = {access.kind for access in found.of.get(variable(arg.name), ())}
        kinds[arg.name] = seen.pop() if len(seen) == 1 else WRITE if seen else READ
    return kinds


def harmless(accesses: Iterable[Access], in_order: bool = False) -> bool:
    """Whether accesses of a buffer commute wherever they go: all read, or all reduce and are
    not to stay `in_order`."""
    kinds = {access.kind for access in accesses}
    return kinds == {READ} or (kinds == {REDUCE} and not in_order)


def separates(loop: q.Var, accesses: list[Access], moving: set[q.Var]) -> bool:
    """Whether accesses in different iterations of `loop` are certainly to different elements.
    `moving` are the variables that need not be the same in both iterations."""
    other = moving | {loop}
    return independence.separates(
        loop,
        [(access.box, access.facts.ranges) for access in accesses],
        lambda atom: other.isdisjoint(q.expr_vars(atom)),
    )
