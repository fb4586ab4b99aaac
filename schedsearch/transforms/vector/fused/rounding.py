"""Whether the vector form of a loop computes bit for bit what the loop does in C."""

from __future__ import annotations

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS, INTEGERS
from schedsearch.transforms.vector.fused.model import Fused

_SAME = {
    "f32": frozenset({"relu", "select", "fmaxf", "expf"}),
    "f64": frozenset({"relu", "select", "sqrt", "sin", "sigmoid"}),
}
"""Functions that both compute in the type of their arguments, and give results of it."""

_AS_STORED = {"f32": frozenset({"sqrt"}), "f64": frozenset[str]()}
"""Functions that C computes in f64, whose result is the same once it is rounded to f32: a
square root that is rounded twice is (Figueroa, 1995)."""


def sums_lanes(fused: Fused) -> bool:
    """Whether it adds the floating-point values of all lanes to one element."""
    return any(
        isinstance(stmt, q.Reduce)
        and stmt.buf.uid < len(fused.operands)
        and not fused.operands[stmt.buf.uid].moves
        and {stmt.type, _kind(stmt)} & FLOATS
        for stmt in fused.body
    )


def loses_rounding(fused: Fused) -> bool:
    """Whether a function of some statement is computed in another type than C does it."""
    stmts = (stmt for stmt in fused.body if isinstance(stmt, q.Assign | q.Reduce))
    return not all(_exact(stmt) for stmt in stmts)


def _exact(stmt: q.Assign | q.Reduce) -> bool:
    kind = _kind(stmt)
    stored = isinstance(stmt, q.Assign) and stmt.type == kind
    return _same_as_c(stmt.rhs, kind, stored)


def _kind(stmt: q.Assign | q.Reduce) -> str:
    """The type of the right side, which mixes none."""
    kinds = {read.type for read in reads(stmt.rhs)} or {stmt.type}
    return "i32" if kinds <= INTEGERS.keys() else min(kinds)


def _same_as_c(expr: q.Expr, kind: str, rounded: bool) -> bool:
    """`rounded`: the value is next rounded to `kind`."""
    match expr:
        case q.Extern():
            known = _SAME.get(kind, frozenset[str]())
            if rounded:
                known = known | _AS_STORED.get(kind, frozenset[str]())
            # C converts every argument to the type of the function's.
            return expr.name in known and all(_same_as_c(arg, kind, True) for arg in expr.args)
        case q.BinOp():
            return _same_as_c(expr.lhs, kind, False) and _same_as_c(expr.rhs, kind, False)
        case q.USub():
            return _same_as_c(expr.arg, kind, False)
        case _:
            return True
