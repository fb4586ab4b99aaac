"""Conditions on sizes and variables of loops."""

from __future__ import annotations

from schedsearch.core import ast as q
from schedsearch.frontends.c.affine.facts import at_least, below
from schedsearch.frontends.graph import OPPOSITE


def compared(op: str, lhs: q.Affine, rhs: q.Affine) -> q.Expr | bool:
    """A comparison; Exo has no `!=`. Of constants, its value."""
    span = (lhs - rhs).const if (lhs - rhs).is_const else None
    if span is not None:
        holds = {
            "<": span < 0,
            "<=": span <= 0,
            ">": span > 0,
            ">=": span >= 0,
            "==": span == 0,
            "!=": span != 0,
        }
        return holds[op]
    if op == "!=":
        return either(q.BinOp("<", lhs, rhs, "bool"), q.BinOp(">", lhs, rhs, "bool"))
    return q.BinOp(op, lhs, rhs, "bool")


def both(a: q.Expr | bool, b: q.Expr | bool) -> q.Expr | bool:
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return q.BinOp("and", a, b, "bool")


def either(a: q.Expr | bool, b: q.Expr | bool) -> q.Expr | bool:
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return q.BinOp("or", a, b, "bool")


def negated(condition: q.Expr | bool) -> q.Expr | bool:
    if isinstance(condition, bool):
        return not condition
    assert isinstance(condition, q.BinOp)
    if condition.op in ("and", "or"):
        join = either if condition.op == "and" else both
        return join(negated(condition.lhs), negated(condition.rhs))
    lhs, rhs = condition.lhs, condition.rhs
    assert isinstance(lhs, q.Affine)
    assert isinstance(rhs, q.Affine)
    return compared(OPPOSITE[condition.op], lhs, rhs)


MOST_CASES = 16
"""Cases at a time. Of more of them nothing is concluded: what is known is less, but never wrong."""

Facts = tuple[q.Affine, ...]
"""Expressions that are not negative, all of them."""


def cases_of(condition: q.Expr | bool) -> tuple[Facts, ...]:
    """The ways in which a condition can hold, and what follows from each."""
    if isinstance(condition, bool):
        return ((),) if condition else ()
    assert isinstance(condition, q.BinOp)
    if condition.op == "and":
        return combined(cases_of(condition.lhs), cases_of(condition.rhs))
    if condition.op == "or":
        found = (*cases_of(condition.lhs), *cases_of(condition.rhs))
        return found if len(found) <= MOST_CASES else ((),)
    lhs, rhs = condition.lhs, condition.rhs
    assert isinstance(lhs, q.Affine)
    assert isinstance(rhs, q.Affine)
    match condition.op:
        case "<":
            return ((below(lhs, rhs),),)
        case "<=":
            return ((at_least(rhs, lhs),),)
        case ">":
            return ((below(rhs, lhs),),)
        case ">=":
            return ((at_least(lhs, rhs),),)
        case _:
            return ((at_least(lhs, rhs), at_least(rhs, lhs)),)


def combined(some: tuple[Facts, ...], others: tuple[Facts, ...]) -> tuple[Facts, ...]:
    """The cases of one and of the other."""
    if len(some) * len(others) > MOST_CASES:
        return some if len(others) > 1 else others
    return tuple((*a, *b) for a in some for b in others)


def facts_of(condition: q.Expr | bool) -> Facts:
    """What follows from a condition in all of its cases, as far as that is simple."""
    found = cases_of(condition)
    if not found:
        return (q.Affine(-1),)
    return found[0] if len(found) == 1 else ()
