"""Sums of products in the order that takes the fewest operations."""

from __future__ import annotations

from itertools import permutations
from math import prod

from schedsearch.analysis.contractions import best_order
from schedsearch.core import ast as q

U, V, X, Y = (q.Var(name, number) for number, name in enumerate("uvxy"))


def first(factors: str, summed: str, **extents: int) -> tuple[str, str] | None:
    """Of factors as `ux xy vy`: those that are summed up first, and over what."""
    named = {var.name: var for var in (U, V, X, Y)}
    parts = factors.split()
    found = best_order(
        tuple(frozenset(named[name] for name in part) for part in parts),
        frozenset(named[name] for name in summed),
        {named[name]: extent for name, extent in extents.items()},
    )
    if found is None:
        return None
    chosen = " ".join(parts[number] for number in found.first.factors)
    return chosen, "".join(sorted(var.name for var in found.first.summed))


def test_the_order_is_the_one_of_the_fewest_operations() -> None:
    assert first("ux xy vy", "xy", u=9, v=9, x=9, y=9) == ("xy vy", "y")
    assert first("ux xy vy", "xy", u=2, v=9, x=9, y=9) == ("ux xy", "x")
    assert first("ux xy vy", "xy", u=9, v=2, x=9, y=9) == ("xy vy", "y")
    assert first("ux xy y", "xy", u=9, x=9, y=9) == ("xy y", "y")
    assert first("x y", "xy", x=9, y=9) == ("y", "y")
    assert first("u x y", "xy", u=9, x=9, y=9) == ("y", "y")


def test_products_before_the_nest_may_take_as_few() -> None:
    assert first("ux xv", "x", u=9, v=9, x=9) is None
    assert first("uxy xv yv", "xy", u=80, v=32, x=80, y=80) is None
    assert first("ux x xv", "x", u=9, v=9, x=9) is None
    assert first("ux u", "x", u=9, x=9) is None  # a multiplication and an addition are one


def test_steps_are_those_of_the_fewest_operations() -> None:
    """Compared with the best order of its sums, each taken over one index, by trying all."""
    factors = [frozenset({U, X}), frozenset({X, Y}), frozenset({Y, V})]
    for sizes in permutations((3, 5, 8, 20)):
        extents = dict(zip((U, V, X, Y), sizes, strict=True))
        order = best_order(tuple(factors), frozenset({X, Y}), extents)
        assert order is not None
        steps = sum(prod(map(extents.__getitem__, step.loops)) for step in order.steps)
        assert all(step.multiplications == 1 and step.summed for step in order.steps)
        u, v, x, y = sizes
        assert steps == min(u * x * y + u * y * v, x * y * v + u * x * v)


def test_equal_products_in_other_loops_have_the_same_order() -> None:
    """It is computed once; each has its own loops in it."""
    orders = []
    for start in (20, 10):
        u, v, x, y = (q.Var(name, start + number) for number, name in enumerate("uvxy"))
        factors = (frozenset({u, x}), frozenset({x, y}), frozenset({v, y}))
        order = best_order(factors, frozenset({x, y}), dict.fromkeys((u, v, x, y), 9))
        assert order is not None
        assert (order.first.summed, order.first.kept) == ({y}, {x, v})
        assert [step.loops for step in order.steps] == [{x, v, y}, {u, v, x}]
        orders.append(order)
    assert orders[0].first.factors == orders[1].first.factors
