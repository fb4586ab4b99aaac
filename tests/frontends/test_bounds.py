"""The least values of affine expressions are least, or not found."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.bounds import Loop, least_value, lengthened, lowest, surely_positive

N, M, i, j = (g.fresh(name) for name in ("N", "M", "i", "j"))
SMALL = st.integers(-3, 3)


@st.composite
def expressions(draw: st.DrawFn, *leaves: q.Var) -> q.Affine:
    total = q.Affine(draw(SMALL))
    for leaf in leaves:
        total = total + q.as_affine(leaf).scaled(draw(SMALL))
    for _ in range(draw(st.integers(0, 2))):
        inner = q.Affine(draw(SMALL))
        for leaf in leaves:
            inner = inner + q.as_affine(leaf).scaled(draw(SMALL))
        part = draw(st.sampled_from([q.floor_div, q.modulo]))(inner, draw(st.integers(2, 3)))
        total = total + part.scaled(draw(SMALL))
    return total


def value(expr: q.Affine, known: dict[q.Var, int]) -> int:
    return q.evaluate_affine(expr, known.__getitem__)  # type: ignore[arg-type]


@pytest.mark.normal
@settings(max_examples=300, derandomize=True)
@given(expr=expressions(N, M))
def test_of_sizes(expr: q.Affine) -> None:
    least = least_value(expr)
    if least is not None:
        for n, m in itertools.product(range(1, 7), repeat=2):
            assert value(expr, {N: n, M: m}) >= least


@pytest.mark.normal
@settings(max_examples=300, derandomize=True)
@given(expr=expressions(N, M), fact=expressions(N, M))
def test_lengths(expr: q.Affine, fact: q.Affine) -> None:
    longer = lengthened(expr, [fact])
    for n, m in itertools.product(range(1, 7), repeat=2):
        if longer is not None and value(fact, {N: n, M: m}) >= 0:
            found = value(longer, {N: n, M: m})
            assert found >= 1
            assert found >= value(expr, {N: n, M: m})


def test_lengths_that_are_found() -> None:
    n, m = map(q.as_affine, (N, M))
    assert lengthened(n, []) == n
    assert lengthened(n - 3, []) == n
    assert lengthened(n - m, [n - m]) == n - m + 1
    assert lengthened(n - m + 1, [n - m]) == n - m + 1
    assert lengthened(n - m - 1, []) == n
    assert lengthened(q.floor_div(n - m, 2), []) == q.floor_div(n + 1, 2)
    assert lengthened(n - q.floor_div(n - m, 2), []) is None


@pytest.mark.normal
@settings(max_examples=300, derandomize=True)
@given(expr=expressions(N, i, j), begin=SMALL, positive=st.booleans())
def test_over_loops(expr: q.Affine, begin: int, positive: bool) -> None:
    """The inner loop begins where the outer one is."""
    loops = [
        Loop(i, q.Affine(begin), q.as_affine(N)),
        Loop(j, q.as_affine(i), q.as_affine(i) + 2),
    ]
    least = lowest(expr, loops)
    shown = surely_positive(expr, loops)
    for n in range(1, 6):
        for a in range(begin, n):
            for b in range(a, a + 2):
                found = value(expr, {N: n, i: a, j: b})
                assert least is None or found >= value(least, {N: n})
                assert not shown or found >= 1


def test_what_is_found() -> None:
    n, a, b = map(q.as_affine, (N, i, j))
    loops = [Loop(i, q.Affine(), n), Loop(j, a + 1, n)]
    assert lowest(b - a, loops) == q.Affine(1)
    assert lowest(n - 1 - b, loops) == q.Affine()
    assert lowest(q.floor_div(a, 2), loops) == q.Affine()
    assert lowest(q.floor_div(a, 2).scaled(-1), loops) == q.floor_div(n - 1, 2).scaled(-1)
    assert lowest(a - q.floor_div(a, 2).scaled(2), loops) is None
    assert least_value(q.modulo(n, 4).scaled(-2)) == -6
    assert least_value(q.floor_div(n, 2)) == 0
    assert least_value(n - q.as_affine(M)) is None


def test_what_a_remainder_leaves_is_not_negative() -> None:
    n = q.as_affine(g.fresh("n"))
    rest = q.affine(0, ((q.Mod(n, 3), 1),))
    assert least_value(n - rest) == 0
    assert least_value(rest - n) is None
    assert least_value(q.floor_div(n - rest, 2)) == 0
