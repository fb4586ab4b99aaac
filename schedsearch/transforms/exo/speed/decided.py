"""Exo's checks, answered without a solver where that is certain.

Exo puts every check as a formula over sets of memory locations, builds it from the whole
procedure and asks z3: 5 to 30 ms each, most of it spent in Python. Most are plain: both
sides of an equation have one affine form, an index is within its bounds by interval
analysis, loops only add to what they write. Those are answered here, with yes alone. All
else is Exo's own business: no answer of Exo's changes, which tests compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from exo.core.LoopIR import LoopIR
from exo.rewrite import LoopIR_scheduling

from schedsearch.analysis import independence
from schedsearch.core import ast as q
from schedsearch.transforms.exo.checks import in_order
from schedsearch.transforms.exo.speed.execution import Branch, runs
from schedsearch.transforms.exo.speed.facts import (
    Facts,
    Undecided,
    facts_at,
    facts_in,
    value_of,
    variable,
)

READ, REDUCE, WRITE = "read", "reduce", "write"


@dataclass(frozen=True)
class BoxAccess:
    """First and last index per dimension, and the facts that hold there."""

    kind: str
    box: independence.Box
    facts: Facts


@dataclass
class BoxAccesses:
    """Accesses by buffer. `inner`: variables bound on the way; `local`: buffers allocated."""

    facts: Facts
    of: dict[q.Var, list[BoxAccess]] = field(default_factory=dict)
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
        access = BoxAccess(kind, tuple(box), self.facts.copy())
        self.of.setdefault(variable(sym), []).append(access)


def _point(index: Any) -> tuple[q.Affine, q.Affine]:
    value = value_of(index)
    return value, value


def _extent(access: Any) -> tuple[q.Affine, q.Affine]:
    if isinstance(access, LoopIR.Interval):
        return value_of(access.lo), value_of(access.hi) - 1
    return _point(access.pt)


def _kinds(proc: Any) -> dict[Any, str]:
    """How a procedure of plain loops accesses each argument. Raises Undecided for other
    procedures."""
    found = BoxAccesses(Facts())
    found.block(proc.body)
    kinds = {}
    for arg in proc.args:
        seen = {access.kind for access in found.of.get(variable(arg.name), ())}
        kinds[arg.name] = seen.pop() if len(seen) == 1 else WRITE if seen else READ
    return kinds


def harmless(accesses: Iterable[BoxAccess], in_order: bool = False) -> bool:
    """Whether accesses of a buffer commute wherever they go: all read, or all reduce and are
    not to stay `in_order`."""
    kinds = {access.kind for access in accesses}
    return kinds == {READ} or (kinds == {REDUCE} and not in_order)


def separates(loop: q.Var, accesses: list[BoxAccess], moving: set[q.Var]) -> bool:
    """Whether accesses in different iterations of `loop` are certainly to different elements.
    `moving` are the variables that need not be the same in both iterations."""
    other = moving | {loop}
    return independence.separates(
        loop,
        [(access.box, access.facts.ranges) for access in accesses],
        lambda atom: other.isdisjoint(q.expr_vars(atom)),
    )


def patches() -> list[tuple[Any, str, Any]]:
    ours: dict[str, Callable[..., bool]] = {
        "Check_ExprBound": _bound,
        "Check_ExprEqvInContext": _equal,
        "Check_Bounds": _in_bounds,
        "Check_Access_In_Window": _in_window,
        "Check_ReorderLoops": _may_reorder,
        "Check_FissionLoop": _may_fission,
    }
    return [(LoopIR_scheduling, name, _or_exo(name, known)) for name, known in ours.items()]


def _or_exo(name: str, known: Callable[..., bool]) -> Callable[..., Any]:
    """A check that is true if `known` says so, and Exo's otherwise."""
    exo = getattr(LoopIR_scheduling, name)

    def check(*args: Any, **kwargs: Any) -> Any:
        try:
            if known(*args, **kwargs):
                return True
        except Undecided:
            pass
        return exo(*args, **kwargs)

    return check


def _bound(proc: Any, stmts: Any, expr: Any, op: str, value: int, exception: bool = True) -> bool:
    """`expr op value` at the first statement."""
    if _crashes(expr):
        raise Undecided
    return facts_at(proc, stmts[0]).compare(value_of(expr), op, q.Affine(value))


def _crashes(expr: Any) -> bool:
    """Is it `0 - x` of an `x` with a division? Exo cannot lower that (`exo/compat.py`, 34)."""
    return (
        isinstance(expr, LoopIR.BinOp)
        and expr.op == "-"
        and value_of(expr.lhs) == q.Affine(0)
        and _divides(expr.rhs)
    )


def _divides(expr: Any) -> bool:
    if isinstance(expr, LoopIR.USub):
        return _divides(expr.arg)
    if not isinstance(expr, LoopIR.BinOp):
        return False
    return expr.op in ("/", "%") or _divides(expr.lhs) or _divides(expr.rhs)


def _equal(proc: Any, one: Any, at_one: Any, other: Any, at_other: Any = None) -> bool:
    """`one == other`, each at its statement."""
    if isinstance(one.type, LoopIR.Bool):
        known = isinstance(other, LoopIR.Const)
        return known and facts_at(proc, at_one[0]).hold(one, wanted=other.val)
    if value_of(one) == value_of(other):
        return True
    return facts_at(proc, at_one[0]).compare(value_of(one), "==", value_of(other))


def _in_bounds(proc: Any, alloc: Any, block: Any) -> bool:
    """All accesses in `block` to the buffer of `alloc` are within its bounds."""
    if not block:
        return True
    facts = facts_at(proc, block[0])
    found = BoxAccesses(facts)
    found.block(block)
    buf = variable(alloc.name)
    if buf in found.local:
        return False
    shape = [value_of(extent) for extent in alloc.type.shape()]
    for access in found.of.get(buf, ()):
        if len(access.box) != len(shape):
            return False
        for (first, last), extent in zip(access.box, shape, strict=True):
            if not access.facts.within(first, last, q.Affine(0), extent):
                return False
    return True


def _in_window(proc: Any, access: Any, window: Any, _: Any) -> bool:
    """An access is within a window, and happens: Exo asks first whether it never does."""
    node = access._node
    if isinstance(node, LoopIR.WindowExpr):
        return False
    around: list[Branch] = []
    while not isinstance(access._node, LoopIR.proc):
        block, _ = access._path[-1]
        if block == "orelse":  # Exo gets them wrong, see exo/checks.py
            return False
        access = access.parent()
        around.insert(0, (access._node, block))
    facts = facts_in(proc, (stmt for stmt, _ in around[1:]))
    for index, part in zip(node.idx, window, strict=True):
        lo, hi = part if isinstance(part, tuple) else (part, None)
        first = value_of(lo)
        after = first + 1 if hi is None else value_of(hi)
        value = value_of(index)
        if not facts.within(value, value, first, after):
            return False
    return runs(proc, [each for each in around[1:] if isinstance(each[0], LoopIR.For | LoopIR.If)])


def _may_reorder(proc: Any, outer: Any) -> bool:
    """Iterations `(x, y)` and `(x2, y2)` with `x < x2`, `y2 < y` do not depend on each other."""
    (inner,) = outer.body
    facts = facts_at(proc, outer)
    facts.enter(outer)
    facts.enter(inner)
    found = BoxAccesses(facts)
    found.block(inner.body)
    if found.local:
        return False
    x, y = variable(outer.iter), variable(inner.iter)
    return all(
        harmless(accesses, in_order())
        or separates(x, accesses, found.inner | {y})
        or separates(y, accesses, found.inner | {x})
        for accesses in found.of.values()
    )


def _may_fission(
    proc: Any, loop: Any, before: Any, after: Any, no_loop_var_1: bool = False
) -> bool:
    """The first statements of a later iteration do not depend on the last of an earlier one."""
    facts = facts_at(proc, loop)
    facts.enter(loop)
    one, other = BoxAccesses(facts), BoxAccesses(facts)
    one.block(before)
    other.block(after)
    shared = one.of.keys() & other.of.keys()
    if one.local & other.local or (one.local | other.local) & shared:
        return False
    i, moving = variable(loop.iter), one.inner | other.inner
    both = [one.of[buf] + other.of[buf] for buf in shared]
    return all(harmless(each, in_order()) or separates(i, each, moving) for each in both)
