"""Where C rounds: the types it computes in, and the roundings of an instruction's Exo body."""

from __future__ import annotations

from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.functions import FUNCTIONS

_RANKS = ("", "i32", "f32", "f64")


def rounds_as_stored(expr: q.Expr, stored: str) -> bool:
    """Whether C computes an expression of data in the type `stored`, so that nothing is rounded
    if it is stored as such."""
    return (_c_type(expr) or stored) == stored


def _c_type(expr: q.Expr) -> str:
    """The type that C computes in; empty for constants, which take the type of the other operand.

    Smaller integers count as `i32`. Arithmetic of f16 counts as f32: whether it is rounded
    after every operation depends on the compiler and the processor.
    """
    match expr:
        case q.Const():
            return ""
        case q.Read() | q.ReadConfig():
            return expr.type
        case q.USub():
            return _promoted(_c_type(expr.arg))
        case q.BinOp():
            return max(map(_promoted, (_c_type(expr.lhs), _c_type(expr.rhs))), key=_RANKS.index)
        case q.Extern():
            function = FUNCTIONS.get(expr.name)
            return (function and function.returns) or expr.type
        case _:
            return "unknown"


def _promoted(kind: str) -> str:
    return "f32" if kind in ("f16", "R") else kind if kind in _RANKS else "i32"


def inexact_body(instruction: q.Proc, sums_reorder: bool) -> str | None:
    """Why an instruction's C may compute something else than its body does, of which at most
    one operation per element is rounded; None if it cannot.

    With `sums_reorder`, products may be added without rounding them, and sums be added up in
    any order.
    """
    if not any(arg.type in FLOATS for arg in instruction.args):
        return None
    for stmt in q.walk(instruction.body):
        if isinstance(stmt, q.Call):
            return f"what {instruction.name} rounds is not known"
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        parts = [*q.walk_expr(stmt.rhs)]
        if any(isinstance(part, q.Extern) for part in parts):
            return f"what {instruction.name} makes of NaN and signed zeros is not known"
        operations = sum(isinstance(part, q.BinOp) for part in parts)
        kinds = {part.type for part in parts if isinstance(part, q.Read)}
        operations += bool(kinds - {stmt.type})  # a conversion rounds, too
        if isinstance(stmt, q.Reduce):
            if sums_reorder and operations <= 1:
                continue
            if operations:
                return f"{instruction.name} may round a product and its sum together"
            if not _steady_order(instruction, stmt):
                return f"{instruction.name} may add up in another order"
        elif operations > 1:
            return f"{instruction.name} may round less often than its body does"
    return None


def _steady_order(instruction: q.Proc, stmt: q.Reduce) -> bool:
    """Whether no two iterations add to one element."""
    used = {var for index in stmt.idx for var in q.expr_vars(index)}
    around = (instruction.by_path.get(stmt.path[:end]) for end in range(1, len(stmt.path)))
    return all(loop.iter in used for loop in around if isinstance(loop, q.For))
