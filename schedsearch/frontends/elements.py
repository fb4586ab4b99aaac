"""From nodes to expressions: `fused` has a row for each kind of value, `pick` for conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.frontends import graph as g
from schedsearch.frontends.block import Block, branch, in_scalar, number, scalar, within
from schedsearch.frontends.counts import counted
from schedsearch.frontends.functions import EXO_NAMES, SELECTIONS
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.plan import At, operands
from schedsearch.frontends.views import replaced

RING = frozenset({"+", "-", "*", "neg"})
"""Operators whose last bits depend on last bits only: integers may wrap after several of them."""

NARROW = frozenset({"i8", "ui8", "ui16"})
"""Types with which C computes as `int`."""

DEEPEST = 30
"""Levels of parentheses. Python has no more than 200."""


def element(value: g.Value, at: At, block: Block) -> q.Expr:
    """An element as an expression; statements that it needs before are written to the block."""
    if value in block.stored:
        within(at, value.shape, block)
        return q.Read(block.stored[value], at, value.type)
    if (value, at) in block.scalars:
        return q.Read(block.scalars[value, at], (), value.type)
    found = fused(value, at, block)
    if isinstance(value, g.Cast) and isinstance(found, q.Read) and value in block.shared:
        block.scalars[value, at] = found.buf  # it is in a scalar already
        return found
    if value in block.shared or depth(found) > DEEPEST:
        block.scalars[value, at] = var = in_scalar(found, value.type, block)
        return q.Read(var, (), value.type)
    return found


def depth(expr: q.Expr) -> int:
    match expr:
        case q.BinOp():
            return 1 + max(depth(expr.lhs), depth(expr.rhs))
        case q.USub():
            return 1 + depth(expr.arg)
        case q.Extern():
            return 1 + max(map(depth, expr.args))
        case _:
            return 0


def fused(value: g.Value, at: At, block: Block) -> q.Expr:
    """The table from nodes to expressions."""
    match value:
        case g.Constant():
            return number(value.value, value.type)
        case g.Count():
            return counted(value, block)
        case g.Load():
            within(at, value.shape, block)
            return q.Read(block.work.arrays[value.array], at, value.type)
        case g.View():
            return element(*next(operands(value, at)), block)
        case g.Apply():
            return applied(value, at, block)
        case g.Select():
            return chosen(value, at, block)
        case g.Cast():
            return converted(value, at, block)
        case g.Reduce() | g.Scan():
            raise AssertionError("it is stored before")


def typed(value: g.Value, at: At, block: Block) -> q.Expr:
    """An element that is to be converted. Exo gives constants the type of what they meet or are
    stored into: an expression of nothing else goes through a temporary of its type."""
    found = settled(value, at, block)
    return found if _reads(found) else q.Read(in_scalar(found, value.type, block), (), value.type)


def _reads(expr: q.Expr) -> bool:
    return any(isinstance(part, q.Read) for part in q.walk_expr(expr))


def settled(value: g.Value, at: At, block: Block) -> q.Expr:
    return wrapped(element(value, at, block), value.type, block)


def applied(value: g.Apply, at: At, block: Block) -> q.Expr:
    function, kind = value.function, value.type
    if function not in RING:
        if function == "/" and kind in INTEGERS:
            raise Refusal("/", "integers would be divided", "convert them to floats")
        args = [settled(each, at, block) for each in value.args]
        if function == "/":
            return q.BinOp("/", args[0], args[1], kind)
        return extern(EXO_NAMES[function], args, kind, block)
    args = [element(each, at, block) for each in value.args]
    whole = ring(function, args, kind)
    if kind in NARROW and bound(whole) >= 2**31:
        whole = ring(function, [wrapped(each, kind, block) for each in args], kind)
    return whole


def ring(function: str, args: Sequence[q.Expr], kind: str) -> q.Expr:
    if function == "neg":
        return q.USub(args[0], kind)
    return q.BinOp(function, args[0], args[1], kind)


def wrapped(expr: q.Expr, kind: str, block: Block) -> q.Expr:
    """An expression whose value is that of its type: C computes with narrow integers as `int`.
    Of functions `abs` alone may leave it: of i8's -128 NumPy's is -128."""
    computed = isinstance(expr, q.BinOp | q.USub)
    computed |= isinstance(expr, q.Extern) and expr.name == EXO_NAMES["abs"]
    if kind in NARROW and computed:
        return q.Read(in_scalar(expr, kind, block), (), kind)
    return expr


def bound(expr: q.Expr) -> int:
    """How far from 0 an expression of narrow integers may be, in C's `int`."""
    match expr:
        case q.BinOp("*", a, b):
            return bound(a) * bound(b)
        case q.BinOp(_, a, b):
            return bound(a) + bound(b)
        case q.USub(a):
            return bound(a)
        case q.Const():
            return abs(int(expr.value))
        case q.Read() | q.Extern():
            return max(map(abs, INTEGERS[expr.type] or ()))
        case _:
            raise AssertionError("it is no value")


def extern(name: str, args: Sequence[q.Expr], kind: str, block: Block) -> q.Expr:
    if kind in INTEGERS and not FUNCTIONS[name].whole:
        raise Refusal(name.rstrip("_"), "it is of floats", "convert its arguments (`astype`)")
    block.work.externs.add(name)
    return q.Extern(name, tuple(args), kind)


def converted(value: g.Cast, at: At, block: Block) -> q.Expr:
    """Through a scalar: an assignment converts as C does."""
    return q.Read(in_scalar(typed(value.source, at, block), value.type, block), (), value.type)


# -- conditions ------------------------------------------------------------------------------------

Written = Callable[[Block], q.Expr]
"""An expression that is written into the block where it is needed."""


def chosen(value: g.Select, at: At, block: Block) -> q.Expr:
    def then(b: Block) -> q.Expr:
        return settled(value.then, at, b)

    def other(b: Block) -> q.Expr:
        return settled(value.other, at, b)

    condition = value.condition
    if isinstance(condition, g.Logical) and not _on_places(condition):
        one, two = (_short(each(block), value.type, block) for each in (then, other))
        return pick(condition, at, lambda _: one, lambda _: two, value.type, block)
    return pick(condition, at, then, other, value.type, block)


def _on_places(condition: g.Condition) -> bool:
    match condition:
        case g.Logical():
            return any(map(_on_places, condition.args))
        case _:
            return isinstance(condition, g.Inside)


def _short(expr: q.Expr, kind: str, block: Block) -> q.Expr:
    """An expression that may be written several times."""
    if isinstance(expr, q.Read | q.Const):
        return expr
    return q.Read(in_scalar(expr, kind, block), (), kind)


def pick(
    condition: g.Condition, at: At, then: Written, other: Written, kind: str, block: Block
) -> q.Expr:
    """One of two: by `if` where the condition is on the place, else by a function."""
    match condition:
        case g.Inside():
            var = scalar("t", kind, block)
            yes, no = block.inside(guarded=True), block.inside(guarded=True)
            for inner, written in ((yes, then), (no, other)):
                rhs = written(inner)
                inner.out.append(q.Assign(block.path, var, (), rhs, kind))
            branch(inside(condition, at), yes, no, block)
            return q.Read(var, (), kind)
        case g.Logical("not", (negated,)):
            return pick(negated, at, other, then, kind, block)
        case g.Logical(op, (first, *rest)):
            if not rest:
                return pick(first, at, then, other, kind, block)
            left = g.Logical(op, tuple(rest))

            def tail(b: Block) -> q.Expr:
                return pick(left, at, then, other, kind, b)

            if op == "and":
                return pick(first, at, tail, other, kind, block)
            return pick(first, at, then, tail, kind, block)
        case g.Compare():
            return compared(condition, at, then(block), other(block), kind, block)
        case _:
            raise AssertionError("a condition has parts")


_SELECTS = {
    "<": ("<", False, False),
    ">": ("<", True, False),
    "<=": ("<=", False, False),
    ">=": ("<=", True, False),
    "==": ("==", False, False),
    "!=": ("==", False, True),
}
"""The function for a comparison, and whether it takes the operands, and the results, swapped."""


def compared(
    condition: g.Compare, at: At, then: q.Expr, other: q.Expr, kind: str, block: Block
) -> q.Expr:
    own = condition.lhs.type
    lhs, rhs = (settled(each, at, block) for each in (condition.lhs, condition.rhs))
    op, turned, inverted = _SELECTS[condition.op]
    name = SELECTIONS[op]
    if turned:
        lhs, rhs = rhs, lhs
    if own != kind:  # functions take one type: the condition as 0 or 1, converted
        if not any(map(_reads, (lhs, rhs))):  # else numbers would be compared as `kind`
            lhs = q.Read(in_scalar(lhs, own, block), (), own)
        truth = extern(name, (lhs, rhs, number(1, own), number(0, own)), own, block)
        mask = q.Read(in_scalar(truth, kind, block), (), kind)
        name, lhs, rhs = SELECTIONS["<"], number(0, kind), mask
    if inverted:
        then, other = other, then
    return extern(name, (lhs, rhs, then, other), kind, block)


def inside(condition: g.Inside, at: At) -> q.Expr:
    """The condition in terms of the loops."""
    names = dict(zip(condition.vars, at, strict=True))

    def put(expr: q.Expr) -> q.Expr:
        match expr:
            case q.Affine():
                return replaced(expr, names)
            case q.BinOp():
                return replace(expr, lhs=put(expr.lhs), rhs=put(expr.rhs))
            case _:
                return expr

    return put(condition.condition)
