"""Conditions on sizes: what is known at a statement, and which branch is taken."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from schedsearch.core import ast as q

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def sizes_of(proc: q.Proc) -> frozenset[q.Var]:
    """The arguments that are sizes: nothing changes them."""
    return frozenset(arg.var for arg in proc.args if arg.type == "size")


def known(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """What is true of sizes at a statement: asserts, and the conditions it is under."""
    sizes = sizes_of(proc)
    conditions = list(proc.asserts)
    for depth in range(1, len(path)):
        around = proc.by_path.get(path[:depth])
        if isinstance(around, q.If) and path[depth] != "e" and q.expr_vars(around.cond) <= sizes:
            conditions.append(around.cond)
    while conditions:
        match conditions.pop():
            case q.BinOp(op="and") as both:
                conditions += [both.lhs, both.rhs]
            case cond:
                yield cond


def possible(
    stmt: q.If, sizes: frozenset[q.Var], value: Callable[[q.Affine], int]
) -> tuple[tuple[q.Stmt, ...], ...]:
    """The branches that may be taken, `value` knowing the sizes."""
    taken = _decide(stmt.cond, sizes, value)
    if taken is None:
        return stmt.body, stmt.orelse
    return (stmt.body if taken else stmt.orelse,)


def _decide(cond: q.Expr, sizes: frozenset[q.Var], value: Callable[[q.Affine], int]) -> bool | None:
    """Whether a condition on `sizes` holds; None if it is on more than those."""
    if not q.expr_vars(cond) <= sizes:
        return None
    match cond:
        case q.BinOp(op="and" | "or" as op, lhs=lhs, rhs=rhs):
            parts = (_decide(lhs, sizes, value), _decide(rhs, sizes, value))
            return None if None in parts else all(parts) if op == "and" else any(parts)
        case q.BinOp(op=op, lhs=q.Affine() as lhs, rhs=q.Affine() as rhs) if op in _COMPARISONS:
            return _COMPARISONS[op](value(lhs), value(rhs))
        case _:
            return None
