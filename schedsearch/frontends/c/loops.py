"""Headers of `for` loops as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q


@dataclass(frozen=True)
class Header:
    """`for (name = start; condition; name += step)`, or `-=` if it goes down."""

    name: str
    start: Any
    condition: Any
    step: Any
    down: bool
    declares: c_ast.Decl | None


def header(loop: c_ast.For) -> Header | str:
    """The parts of a loop, or what is wrong with it."""
    match loop.init:
        case c_ast.DeclList(decls=[c_ast.Decl() as decl]) if decl.init is not None:
            name, start, declares = decl.name, decl.init, decl
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target):
            name, start, declares = target.name, loop.init.rvalue, None
        case _:
            return "it does not begin with one assignment to one variable"
    if loop.cond is None:
        return "it has no condition"
    match loop.next:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--" as op, expr=c_ast.ID(name=stepped)):
            step: Any = c_ast.Constant("int", "1", loop.coord)
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=stepped)):
            step = loop.next.rvalue
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=stepped),
            rvalue=c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.ID(name=read)),
        ) if read == stepped:
            step = loop.next.rvalue.right
        case _:
            return "it does not end with a constant step of one variable"
    if stepped != name:
        return f"it begins with {name} and steps {stepped}"
    return Header(name, start, loop.cond, step, "-" in op, declares)


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
