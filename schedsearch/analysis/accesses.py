"""What a procedure accesses: every load and store of its text, with what is around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.analysis import conditions
from schedsearch.core import ast as q

Loops = tuple[q.For, ...]
Values = dict[q.Atom, int]
Points = dict[q.Atom, NDArray[np.int64]]
"""Values of loop variables, iteration by iteration: arrays of one length."""


@dataclass(frozen=True)
class Access:
    """`loops` and `conditions` (with the outcome that leads here) are around it."""

    buf: q.Var
    idx: tuple[q.Affine, ...]
    loops: Loops
    conditions: tuple[tuple[q.Expr, bool], ...]
    store: bool


def list_accesses(
    body: tuple[q.Stmt, ...], loops: Loops, conditions: tuple[tuple[q.Expr, bool], ...]
) -> Iterator[Access]:
    """In the order of the text; of a statement, loads first."""
    for stmt in body:
        for expr in q.stmt_exprs(stmt):
            for node in q.walk_expr(expr):
                if isinstance(node, q.Read):
                    yield Access(node.buf, node.idx, loops, conditions, store=False)
        match stmt:
            case q.Assign() | q.Reduce():
                if isinstance(stmt, q.Reduce):
                    yield Access(stmt.buf, stmt.idx, loops, conditions, store=False)
                yield Access(stmt.buf, stmt.idx, loops, conditions, store=True)
            case q.For():
                yield from list_accesses(stmt.body, (*loops, stmt), conditions)
            case q.If():
                yield from list_accesses(stmt.body, loops, (*conditions, (stmt.cond, True)))
                yield from list_accesses(stmt.orelse, loops, (*conditions, (stmt.cond, False)))
            case _:
                pass


def involved(exprs: Iterable[q.Expr], loops: dict[q.Var, q.For]) -> set[q.Var]:
    """Loop variables that `exprs` depend on, and those that their bounds depend on."""
    found = set[q.Var]()
    left = [var for expr in exprs for var in q.expr_vars(expr) & loops.keys()]
    while left:
        var = left.pop()
        if var not in found:
            found.add(var)
            loop = loops[var]
            left += (q.expr_vars(loop.lo) | q.expr_vars(loop.hi)) & loops.keys()
    return found


def evaluate(value: q.Affine, values: Values, points: Points) -> Any:
    """An integer, or an array of one per point."""
    known: dict[q.Atom, Any] = values | points
    return q.evaluate_affine(value, known.__getitem__)


def truth(condition: q.Expr, values: Values, points: Points) -> Any:
    """A condition's value at each point; None if it depends on more than loops and sizes."""
    return conditions.truth(condition, lambda value: evaluate(value, values, points))
