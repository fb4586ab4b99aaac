"""Conditions: their values, those that hold at a statement, and the branches that may be taken."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from schedsearch.core import ast as q

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
NEGATED: Mapping[str, str] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""`not a < b` is `a >= b`. There is no `!=`."""

LARGEST = 2**31 - 1
"""No control value is larger: they are int_fast32_t."""

Boolean = q.Const | q.Read | q.ReadConfig


def constant(given: Boolean) -> bool | None:
    return bool(given.value) if isinstance(given, q.Const) else None


def truth(
    cond: q.Expr, value: Callable[[q.Affine], Any], boolean: Callable[[Boolean], Any] = constant
) -> Any:
    """The value of a condition, None if it is not known: of numbers, arrays or z3's terms,
    whichever `value` and `boolean` give for control expressions and for booleans."""
    match cond:
        case q.Affine():
            return value(cond)
        case q.Const() | q.Read() | q.ReadConfig():
            return boolean(cond)
        case q.BinOp(op=op) if op in _OPERATORS:
            left, right = truth(cond.lhs, value, boolean), truth(cond.rhs, value, boolean)
            return None if left is None or right is None else _OPERATORS[op](left, right)
        case _:
            return None


_OPERATORS = {**COMPARISONS, "and": operator.and_, "or": operator.or_}


def holds(cond: q.Expr, values: Mapping[q.Atom, int]) -> bool | None:
    """Whether a condition is true of these values of control variables and fields."""

    def boolean(given: Boolean) -> bool | None:
        match given:
            case q.Const():
                return bool(given.value)
            case q.Read():
                return bool(values[given.buf])
            case q.ReadConfig():
                field = values.get(q.ConfigField(given.config, given.field))
                return None if field is None else bool(field)

    found = truth(cond, lambda value: q.evaluate_affine(value, values.__getitem__), boolean)
    return None if found is None else bool(found)


def at_most_zero(condition: q.Expr) -> Iterator[q.Affine]:
    """Expressions that are at most 0 because of a condition."""
    for part in conjuncts(condition):
        match part:
            case q.BinOp(op=op, lhs=q.Affine() as lhs, rhs=q.Affine() as rhs):
                if op in ("<", "<=", "=="):
                    yield lhs - rhs + (1 if op == "<" else 0)
                if op in (">", ">=", "=="):
                    yield rhs - lhs + (1 if op == ">" else 0)


def conjuncts(condition: q.Expr) -> Iterator[q.Expr]:
    """The conditions that are joined by `and`, in textual order."""
    match condition:
        case q.BinOp(op="and"):
            yield from conjuncts(condition.lhs)
            yield from conjuncts(condition.rhs)
        case _:
            yield condition


def guards(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """Conditions that hold at the statement at `path`, because it is in their branch."""
    for depth in range(1, len(path)):
        around = proc.by_path.get(path[:depth])
        if isinstance(around, q.If) and path[depth] != "e":
            yield around.cond


def denied(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """Conditions that do not hold at the statement at `path`, because it is in their `else`."""
    if "e" not in path:
        return
    for depth in range(1, len(path)):
        around = proc.by_path.get(path[:depth])
        if isinstance(around, q.If) and path[depth] == "e":
            yield around.cond


def negated(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """Conditions that hold at the statement at `path`, because it is in the `else` of others."""
    for cond in denied(proc, path):
        if isinstance(cond, q.BinOp) and cond.op in NEGATED:
            yield replace(cond, op=NEGATED[cond.op])


def sizes_of(proc: q.Proc) -> frozenset[q.Var]:
    """The arguments that are sizes: nothing changes them."""
    return frozenset(arg.var for arg in proc.args if arg.type == "size")


def known(proc: q.Proc, path: q.Path) -> Iterator[q.Expr]:
    """Conditions on sizes that hold at a statement: asserts, and those of the branches around."""
    sizes = sizes_of(proc)
    around = (cond for cond in guards(proc, path) if q.expr_vars(cond) <= sizes)
    for condition in (*proc.asserts, *around):
        yield from conjuncts(condition)


def possible(
    stmt: q.If, sizes: frozenset[q.Var], value: Callable[[q.Affine], int]
) -> tuple[tuple[q.Stmt, ...], ...]:
    """The branches that may be taken, `value` knowing the sizes."""
    taken = truth(stmt.cond, value) if q.expr_vars(stmt.cond) <= sizes else None
    if taken is None:
        return stmt.body, stmt.orelse
    return (stmt.body if taken else stmt.orelse,)


def in_dead_branch(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` never runs: it is in the `else` of `n <= LARGEST`, which
    always holds of a size, or in a loop of no iterations, as behind tiles that leave nothing."""
    around = (proc.by_path.get(path[:depth]) for depth in range(1, len(path)))
    if any(isinstance(loop, q.For) and loop.extent == 0 for loop in around):
        return True
    return any(_always(cond, sizes_of(proc)) for cond in denied(proc, path))


def _always(condition: q.Expr, sizes: frozenset[q.Var]) -> bool:
    if not isinstance(condition, q.BinOp) or condition.op == "and":
        return False
    return any(
        expr.terms == ((size, 1),) and expr.const <= -LARGEST
        for expr in at_most_zero(condition)
        for size in sizes
    )
