"""Headers of `for` loops as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q


@dataclass(frozen=True)
class Header:
    """`for (name = start; condition; name += step)`."""

    name: str
    start: Any
    condition: Any
    step: int
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
        case c_ast.UnaryOp(op="++" | "p++", expr=c_ast.ID(name=stepped)):
            step: int | None = 1
        case c_ast.UnaryOp(op="--" | "p--", expr=c_ast.ID(name=stepped)):
            step = -1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=stepped)):
            step = _number(loop.next.rvalue)
            step = -step if step is not None and op == "-=" else step
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=stepped),
            rvalue=c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.ID(name=read)),
        ) if read == stepped:
            step = _number(loop.next.rvalue.right)
            step = -step if step is not None and op == "-" else step
        case _:
            return "it does not end with a constant step of one variable"
    if stepped != name:
        return f"it begins with {name} and steps {stepped}"
    if not step:
        return "its step is no constant"
    return Header(name, start, loop.cond, step, declares)


def _number(node: Any) -> int | None:
    match node:
        case c_ast.UnaryOp(op="-"):
            inner = _number(node.expr)
            return None if inner is None else -inner
        case c_ast.Constant(type="int" | "unsigned int" | "long int"):
            try:
                return int(node.value.rstrip("uUlL"), 0)
            except ValueError:
                return None  # octal
        case _:
            return None


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
