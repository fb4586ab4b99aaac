"""What a reduction is: an element that is combined, again and again, with another term.

`x += e` is one, and so is `x = min(x, e)`, however it is written. Exo has the first alone; to Exo
the other is an assignment that reads what it writes, so that the order of its terms is kept by
whatever Exo proves. All code that asks "is this a reduction, and of what" asks here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schedsearch.core import ast as q
from schedsearch.core.functions import FUNCTIONS

Operator = Literal["+", "min", "max"]


@dataclass(frozen=True)
class Reduction:
    """An element becomes itself combined with `term`, which does not read its array.

    `steady`: NaN among the terms has the same effect in any order of them. `x < e ? x : e` is not:
    it takes a NaN, and forgets it at the next term. (Which zero results of +0 and -0 depends on the
    order anyway.)
    """

    operator: Operator
    term: q.Expr
    steady: bool = True


def reduction(stmt: q.Stmt) -> Reduction | None:
    """The statement as a reduction; None if it is none."""
    match stmt:
        case q.Reduce():
            return Reduction("+", stmt.rhs)
        case q.Assign(rhs=q.Extern() as value):
            found = _extreme(value, q.Read(stmt.buf, stmt.idx, stmt.type))
            return found if found and stmt.buf not in q.expr_vars(found.term) else None
        case _:
            return None


def _extreme(value: q.Extern, own: q.Read) -> Reduction | None:
    """`value` as the smaller or larger one of `own` and another value."""
    function = FUNCTIONS.get(value.name)
    if function is None:
        return None
    if function.extreme and own in value.args:
        first, second = value.args
        return Reduction(function.extreme, second if first == own else first)
    match function.chooses, value.args:
        case "<" | "<=", (first, second, then, other):
            if (then, other) not in ((first, second), (second, first)):
                return None
            if own not in (then, other):
                return None
            operator: Operator = "min" if then == first else "max"
            # If one is NaN, it is `other`.
            return Reduction(operator, other if then == own else then, steady=other == own)
        case "==", (first, second, q.Extern() as inner, other) if first == second:
            return _of_numbers(first, _extreme(inner, own), other, own)
    return None


def _of_numbers(
    tested: q.Expr, inner: Reduction | None, other: q.Expr, own: q.Read
) -> Reduction | None:
    """C's `fmin` and `fmax`, which ignore NaN: `tested == tested ? inner : other`."""
    if inner is None or (tested, other) not in ((inner.term, own), (own, inner.term)):
        return None
    # What is left of a NaN in `inner` is the other one of the two, which `tested` is not.
    return Reduction(inner.operator, inner.term, steady=inner.steady == (tested == own))


def smaller_or_larger(value: q.Extern) -> tuple[Literal["min", "max"], q.Expr, q.Expr] | None:
    """The two values of which an expression is the smaller or larger one, however it is written;
    None if it is none. It may treat NaN in any way."""
    function = FUNCTIONS.get(value.name)
    if function is None:
        return None
    if function.extreme:
        one, two = value.args
        return function.extreme, one, two
    match function.chooses, value.args:
        case "<" | "<=", (first, second, then, other):
            if (then, other) in ((first, second), (second, first)):
                return "min" if then == first else "max", first, second
        case "==", (first, second, q.Extern() as inner, other) if first == second:
            found = smaller_or_larger(inner)
            if found and {first, other} == {*found[1:]}:
                return found
    if value.name in ("relu", "relu_"):
        return "max", value.args[0], q.Const(0.0, "")
    return None
