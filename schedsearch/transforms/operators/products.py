"""The factors of a product, and the multiplication of some of them before the others."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from schedsearch.analysis.conversions import Route
from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import Op, Part, Parts

Leaf = tuple[q.Expr, Route]
"""A factor, with the way to it."""


def factors_of(expr: q.Expr, route: Route = ()) -> Iterator[Leaf]:
    """The factors of a product, from left to right."""
    if isinstance(expr, q.BinOp) and expr.op == "*":
        yield from factors_of(expr.lhs, (*route, "lhs"))
        yield from factors_of(expr.rhs, (*route, "rhs"))
    else:
        yield expr, route


def part_of(leaves: Sequence[Leaf], factors: Sequence[int]) -> Route | None:
    """The way to the part that is the product of these factors alone; None if there is none."""
    routes = [leaves[factor][1] for factor in factors]
    common = routes[0]
    while any(route[: len(common)] != common for route in routes):
        common = common[:-1]
    below = [leaf for leaf, route in leaves if route[: len(common)] == common]
    return common if len(below) == len(routes) else None


def multiply_first(
    stmt: q.Assign | q.Reduce, leaves: Sequence[Leaf], factors: Sequence[int]
) -> Generator[Op | None, Any, Route]:
    """Multiply from the left on, these factors first: `x * (b * y)` becomes `(x * y) * b`. Returns
    the way to their product."""
    path, tree = stmt.path, stmt.rhs
    while (route := _right_product(tree, ())) is not None:
        after = yield Op("left_reassociate_expr", (Part(path, route),))
        changed = mirror(after).by_path[path]
        assert isinstance(changed, q.Assign | q.Reduce)
        tree = changed.rhs
    order, last = list(range(len(leaves))), len(leaves) - 1
    for place, factor in enumerate(factors):
        while order.index(factor) > place:
            at = order.index(factor)
            product = ("lhs",) * (last - at)  # of all factors up to this one
            yield Op("commute_expr", (Parts(path, (product,)),))
            if at > 1:
                yield Op("left_reassociate_expr", (Part(path, product),))
                yield Op("commute_expr", (Parts(path, ((*product, "lhs"),)),))
            order[at - 1 : at + 1] = [factor, order[at - 1]]
    return ("lhs",) * (len(leaves) - len(factors))


def _right_product(expr: q.Expr, route: Route) -> Route | None:
    """The way to a product whose right side is one; None if there is none."""
    if not (isinstance(expr, q.BinOp) and expr.op == "*"):
        return None
    if isinstance(expr.rhs, q.BinOp) and expr.rhs.op == "*":
        return route
    return _right_product(expr.lhs, (*route, "lhs"))
