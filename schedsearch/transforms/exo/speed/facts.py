"""Facts about control values at a statement of a LoopIR procedure.

True answers are proofs; otherwise nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from exo.core.LoopIR import LoopIR, T

from schedsearch.analysis.certain import Certain
from schedsearch.analysis.conditions import NEGATED
from schedsearch.analysis.ranges import bind_args, bind_loop
from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import blocks, is_control, to_affine


class Undecided(Exception):
    """Exo has to be asked."""


class _Vars(dict[Any, q.Var]):
    """Variables of Exo's symbols, numbered as Exo numbers them."""

    def __missing__(self, sym: Any) -> q.Var:
        return q.Var(sym.name(), sym._id)


_VARS = _Vars()


def variable(sym: Any) -> q.Var:
    return _VARS[sym]


def value_of(expr: Any) -> q.Affine:
    """Affine form of a control expression; raises Undecided if it depends on more than
    arguments and loops."""
    if not is_control(expr.type):
        raise Undecided
    try:
        value = to_affine(expr, _VARS)
    except NotImplementedError as error:
        raise Undecided from error
    if any(type(atom) is not q.Var for atom, _ in value.terms) and q.may_change(value):
        raise Undecided  # it may change on the way
    return value


class Facts(Certain):
    """The same of LoopIR."""

    def enter(self, loop: Any) -> None:
        """Add the facts that hold in the body of a loop.

        Raises Undecided if a loop around has the same variable: Exo copies loops with
        their symbols, and an index would be taken for the outer one's.
        """
        if any(var == variable(loop.iter) for var, _, _ in self.loops):
            raise Undecided
        var, lo, hi = variable(loop.iter), value_of(loop.lo), value_of(loop.hi)
        bind_loop(self.ranges, var.uid, lo, hi)
        self.loops.append((var, lo, hi))

    @contextmanager
    def inside(self, loop: Any) -> Iterator[None]:
        """The same for a while. Exo copies loops with their symbols, so that the next loop
        may give the same variable another range."""
        before = dict(self.ranges), list(self.loops)
        self.enter(loop)
        yield
        self.ranges, self.loops = before

    def copy(self) -> Facts:
        return Facts(dict(self.ranges), list(self.loops))

    def hold(self, condition: Any, wanted: bool = True) -> bool:
        """Whether a LoopIR condition is certainly true (or, not `wanted`, false)."""
        match condition:
            case LoopIR.Const():
                return condition.val is wanted
            case LoopIR.BinOp(op="and") if wanted:
                return self.hold(condition.lhs) and self.hold(condition.rhs)
            case LoopIR.BinOp() if condition.op in ("and", "or"):
                return False
            case LoopIR.BinOp():
                op = condition.op if wanted else NEGATED.get(condition.op, "")
                return self.compare(value_of(condition.lhs), op, value_of(condition.rhs))
            case _:
                return False


def facts_in(proc: Any, around: Iterable[Any]) -> Facts:
    """Facts inside of some statements of a procedure, which are given outermost first."""
    facts = Facts()
    bind_args(facts.ranges, [(variable(a.name).uid, a.type is T.size) for a in proc.args])
    for stmt in around:
        if isinstance(stmt, LoopIR.For):
            facts.enter(stmt)
    return facts


def facts_at(proc: Any, stmt: Any) -> Facts:
    """Facts at a statement, the first with this identity (as Exo looks for it).

    Raises Undecided if windows are named before it: one buffer has several names then.
    """
    around = _search(proc.body, stmt)
    if around is None:
        raise Undecided
    return facts_in(proc, around)


def _search(stmts: Any, wanted: Any) -> list[Any] | None:
    """The statements around one, outermost first."""
    for stmt in stmts:
        if stmt is wanted:
            return []
        if isinstance(stmt, LoopIR.WindowStmt):
            raise Undecided
        for block in blocks(stmt):
            inner = _search(block, wanted)
            if inner is not None:
                return [stmt, *inner]
    return None
