"""Which values are stored before a nest of loops begins."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from frontends import building
from frontends.kernels import calls
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.plan import needed_first, shared

N, M = g.fresh("N"), g.fresh("M")
A = g.Load(g.Array("A", "f32", views.shape_of(N, M)))
X = g.Load(g.Array("x", "f32", views.shape_of(N)))
Y = g.Load(g.Array("y", "f32", views.shape_of(M)))
S = g.Load(g.Array("s", "f32"))


def apply(function: str, *values: g.Value) -> g.Value:
    return calls(function, *building.broadcast(values))


def outer(value: g.Value) -> g.Value:
    return apply("*", views.expand(value, 1), Y)


def steps(value: g.Value) -> g.Value:
    return apply("-", building.slice_(value, 0, 1), building.slice_(value, 0, None, -1))


def total(value: g.Value, *axes: int) -> g.Value:
    return g.Reduce("sum", value, axes or (0,))


EXP = calls("exp", X)
SUM = apply("+", X, X)
E = calls("exp", A)
ROWS = total(E, 1)
HALF = apply("*", S, S)
NEGATIVE = calls("neg", X)
WIDE = g.Cast(X, "f64")
WINDOW = views.sliding_window(SUM, 0, 3)
DEEP = calls("exp", E)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (EXP, []),
        (SUM, []),
        (outer(EXP), [EXP]),
        (outer(SUM), [SUM]),
        (outer(X), []),
        (outer(NEGATIVE), []),
        (outer(WIDE.source), []),
        (steps(EXP), [EXP]),
        (steps(SUM), []),
        (apply("*", HALF, A), [HALF]),
        (total(E, 1), []),
        (total(WINDOW, 1), [SUM]),
        (apply("/", E, views.expand(ROWS, 1)), [E, ROWS]),
        (apply("/", total(EXP), g.Reduce("max", EXP, (0,))), [EXP]),
        (apply("+", DEEP, views.expand(total(DEEP, 1), 1)), [DEEP]),
        (apply("-", A, views.expand(ROWS, 1)), [ROWS]),
        (g.Scan("sum", EXP, 0), []),
    ],
)
def test_what_is_computed_once(value: g.Value, kept: Sequence[g.Value]) -> None:
    found = needed_first(value, ())
    assert [each for each in found if not isinstance(each, g.Reduce) or each in kept] == kept


def test_what_is_stored_is_not_needed() -> None:
    assert needed_first(outer(EXP), {EXP}) == []


def test_what_others_use_is_first() -> None:
    rows = total(A, 1)
    scaled = apply("/", A, views.expand(rows, 1))
    columns = total(scaled, 0)
    found = needed_first(apply("*", apply("+", A, columns), views.expand(rows, 1)), ())
    assert found == [rows, columns]


def test_what_an_element_needs_twice() -> None:
    twice = apply("*", EXP, apply("+", EXP, X))
    assert shared(twice, ()) == {EXP}
    assert shared(twice, {EXP}) == frozenset()
    assert shared(apply("*", SUM, SUM), ()) == frozenset()


def test_sums_of_sums_stay_short() -> None:
    """Each is used twice by the next: expressions would double."""
    value: g.Value = X
    for _ in range(60):
        value = calls("+", value, value)
    assert len(shared(value, ())) > 20
    assert needed_first(value, ()) == []
