"""Conditions of loops as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.graph import OPPOSITE


@dataclass(frozen=True)
class Flat:
    """A loop over a product of sizes, which are its extents."""

    extents: tuple[q.Affine, ...]
    total: Polynomial


def flat(bound: Polynomial) -> Flat | None:
    """A product of sizes, and perhaps one sum of them, as a loop's bound. None for sums of such."""
    if len(bound.parts) != 1:
        return None
    [(monomial, part)] = bound.parts
    sizes = tuple(map(q.as_affine, monomial))
    if part.is_const and part.const < 1:
        return None
    own = () if part == q.Affine(1) else (part,)
    return Flat((*own, *sizes), bound)


def conjunction(node: Any) -> list[Any]:
    """The parts of a condition on places that all have to hold."""
    match node:
        case c_ast.BinaryOp(op="&&"):
            return [*conjunction(node.left), *conjunction(node.right)]
        case c_ast.UnaryOp(op="!"):
            return conjunction(_opposite(node.expr))
        case _:
            return [node]


def _opposite(node: Any) -> Any:
    match node:
        case c_ast.BinaryOp() if node.op in OPPOSITE:
            return c_ast.BinaryOp(OPPOSITE[node.op], node.left, node.right, node.coord)
        case c_ast.BinaryOp(op="||"):
            sides = (c_ast.UnaryOp("!", each, each.coord) for each in (node.left, node.right))
            return c_ast.BinaryOp("&&", *sides, node.coord)
        case c_ast.UnaryOp(op="!"):
            return node.expr
        case _:
            return c_ast.BinaryOp("==", node, c_ast.Constant("int", "0", node.coord), node.coord)


def last(condition: q.BinOp, var: q.Var, upwards: bool) -> q.Affine | None:
    """The last value of the variable for which a comparison holds, as it moves away from where it
    holds. None if the comparison is of another form."""
    lhs, rhs = condition.lhs, condition.rhs
    if not isinstance(lhs, q.Affine) or not isinstance(rhs, q.Affine):
        return None
    span = {
        "<": rhs - lhs - 1,
        "<=": rhs - lhs,
        ">": lhs - rhs - 1,
        ">=": lhs - rhs,
    }.get(condition.op)
    if span is None:
        return None
    coefficient = span.coefficient(var)
    rest = span - q.as_affine(var).scaled(coefficient)
    if coefficient == 0 or (coefficient < 0) != upwards or q.mentions(rest, var):
        return None
    if upwards:  # |c| * var <= rest
        return q.floor_div(rest, -coefficient)
    return q.floor_div(rest, coefficient).scaled(-1)  # c * var >= -rest


def trips(first: q.Affine, final: q.Affine, step: int) -> q.Affine:
    """How often a loop's body runs, if that is not negative."""
    span = final - first if step > 0 else first - final
    return q.floor_div(span, abs(step)) + 1
