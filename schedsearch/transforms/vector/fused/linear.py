"""Expressions that are linear in an element, and their factors."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from operator import add, mul, sub, truediv

import numpy as np

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.functions import FUNCTIONS

ONE = q.Const(1.0, "")
ZERO = q.Const(0.0, "")


CHOICES = frozenset(name for name, function in FUNCTIONS.items() if function.chooses)


LARGEST_POWER = 8
"""Products of factors; with larger ones, differences of large numbers round more than the loop as
written."""

SMALLEST_POWER = {"f32": -126, "f64": -1022}
"""Exponents of the smallest normal numbers. Below them products of factors lose digits, or are 0
where no result is: `1e-3f` to the power of 16, times `1e30f`, is `1e-18f`."""

_LANES = 16
"""Of the largest registers."""


Parts = tuple[q.Expr | None, q.Expr | None]
"""What the element before is multiplied by, and what is added; None for 0."""


def split(expr: q.Expr, before: q.Read) -> Parts | None:
    """None if the expression is not linear in `before`."""
    if expr == before:
        return ONE, None
    if before not in reads(expr):
        return None, expr
    match expr:
        case q.USub():
            found = split(expr.arg, before)
            return found and (_negated(found[0]), _negated(found[1]))
        case q.BinOp(op="+" | "-"):
            left, right = (split(side, before) for side in (expr.lhs, expr.rhs))
            if left is None or right is None:
                return None
            factor, free = (
                _joined(expr.op, *pair, expr.type) for pair in zip(left, right, strict=True)
            )
            return factor, free
        case q.BinOp(op="*" | "/"):
            first = before in reads(expr.lhs)
            part, other = (expr.lhs, expr.rhs) if first else (expr.rhs, expr.lhs)
            found = split(part, before)
            if found is None or before in reads(other) or (expr.op == "/" and not first):
                return None
            factor, free = (_scaled(expr, each, other) for each in found)
            return factor, free
        case q.Extern(args=(one, other, then, else_)) if expr.name in CHOICES:
            left, right = split(then, before), split(else_, before)
            if left is None or right is None or before in (*reads(one), *reads(other)):
                return None
            factor, free = (_chosen(expr, *pair) for pair in zip(left, right, strict=True))
            return factor, free
        case _:
            return None


def _chosen(expr: q.Extern, then: q.Expr | None, other: q.Expr | None) -> q.Expr | None:
    if then is None and other is None:
        return None
    return replace(expr, args=(*expr.args[:2], then or ZERO, other or ZERO))


def _negated(expr: q.Expr | None) -> q.Expr | None:
    return expr and q.USub(expr, "")


def _joined(op: str, one: q.Expr | None, other: q.Expr | None, kind: str) -> q.Expr | None:
    if one is None:
        return other if op == "+" else _negated(other)
    return one if other is None else q.BinOp(op, one, other, kind)


def _scaled(expr: q.BinOp, part: q.Expr | None, other: q.Expr) -> q.Expr | None:
    if part == ONE and expr.op == "*":
        return other
    return part and q.BinOp(expr.op, part, other, expr.type)


def number(expr: q.Expr) -> float | None:
    """The value of an expression of numbers alone."""
    match expr:
        case q.Const():
            return float(expr.value)
        case q.USub():
            value = number(expr.arg)
            return value and -value
        case q.BinOp():
            left, right = number(expr.lhs), number(expr.rhs)
            if left is None or right is None or (expr.op == "/" and not right):
                return None
            return float({"+": add, "-": sub, "*": mul, "/": truediv}[expr.op](left, right))
        case _:
            return None


def known(factor: q.Expr | None, second: q.Expr | None, kind: str) -> bool:
    """Whether the factors of the last value, and of that before it, are numbers whose powers do
    not grow, and are normal numbers or 0."""
    if any(number(each) is None for each in (factor, second) if each):
        return False
    first, last = (number(each) or 0.0 if each else 0.0 for each in (factor, second))
    return (second is not None or abs(first) <= 1.0) and not _vanishes(first, last, kind)


def _vanishes(first: float, second: float, kind: str) -> bool:
    """Whether a value counts too little for normal numbers within a register, but more than 0: a
    lag of an odd number alone may (`second` of 1e-3, `first` of 1e-20)."""
    one, other = (np.longdouble(abs(each)) for each in (first, second))  # has powers of all f64
    counts = [np.longdouble(1), one]
    for _ in range(_LANES - 1):
        counts.append(one * counts[-1] + other * counts[-2])
    least = 2.0 ** SMALLEST_POWER[kind] if kind in SMALLEST_POWER else 0.0
    return any(0 < each < least for each in (*counts[:-1], *(other * n for n in counts[:-2])))


def smallest(kind: str, more: int = 0) -> str:
    """C of the smallest normal number, times `2^more`."""
    return f"0x1p{SMALLEST_POWER[kind] + more}{'f' if kind == 'f32' else ''}"


def vanishing(value: str, kind: str) -> str:
    """C: whether a number is no normal one, perhaps 0."""
    return f"({value} < {smallest(kind)} && {value} > -{smallest(kind)})"


def grows(factor: q.Expr, second: q.Expr | None) -> bool:
    """Whether it is known that a value before counts more and more: too much within a register."""
    first = number(factor)
    if second is None:
        return first is not None and abs(first) > LARGEST_POWER ** (1 / _LANES)
    last = number(second)
    if last is None:
        return False
    if first is None:
        return last < -1.0
    return last < -1.0 or abs(first) > 1.0 - last or (last == -1.0 and abs(first) == 2.0)


def varies(factor: q.Expr, changing: Set[q.Var]) -> bool:
    """Whether a factor is a register: it changes from iteration to iteration, or is the value of a
    function."""
    functions = any(isinstance(node, q.Extern) for node in q.walk_expr(factor))
    return functions or bool(changing & q.expr_vars(factor))
