"""Which statements are reductions, and of what."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from transforms.interpret import EXTERNS

from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q

M, N, X, Y = (q.Var(name, uid) for uid, name in enumerate("mnxy"))
OWN = q.Read(M, (q.as_affine(N),), "f32")
TERM = q.BinOp("+", q.Read(X, (), "f32"), q.Read(Y, (), "f32"), "f32")


def call(name: str, *args: q.Expr) -> q.Extern:
    return q.Extern(name, args, "f32")


def of_numbers(name: str, a: q.Expr, b: q.Expr) -> q.Extern:
    """As the C front end writes `fmin` and `fmax`."""
    first, second = (a, b) if name == "min" else (b, a)
    return call("select_eq", b, b, call("select_lt", first, second, a, b), a)


FORMS = [
    *(
        call(name, *pair)
        for name in ("min_", "max_", "fmaxf")
        for pair in permutations((OWN, TERM))
    ),
    *(
        call(name, *compared, *chosen)
        for name in ("select", "select_lt", "select_le")
        for compared in permutations((OWN, TERM))
        for chosen in permutations((OWN, TERM))
    ),
    *(of_numbers(name, *pair) for name in ("min", "max") for pair in permutations((OWN, TERM))),
]


def assigned(value: q.Expr) -> q.Assign:
    return q.Assign((), M, OWN.idx, value, "f32")


def value_of(expr: q.Expr, own: float, term: float) -> float:
    """With C's comparisons of NaN."""
    if not isinstance(expr, q.Extern):
        return own if expr == OWN else term
    args = [value_of(arg, own, term) for arg in expr.args]
    match expr.name:
        case "fmaxf":
            return args[0] if args[0] > args[1] or math.isnan(args[1]) else args[1]
        case "min_":
            return args[0] if args[0] < args[1] or math.isnan(args[0]) else args[1]
        case "max_":
            return args[0] if args[0] > args[1] or math.isnan(args[0]) else args[1]
        case name:
            return float(EXTERNS[name](*args))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_minima_and_maxima_are_found_however_they_are_written(form: q.Extern) -> None:
    found = reduction(assigned(form))
    assert found is not None
    assert found.term == TERM
    choose = {"min": min, "max": max}[found.operator]
    assert [value_of(form, *pair) for pair in ((1, 2), (2, 1))] == [choose(1, 2)] * 2


def folded(form: q.Extern, terms: tuple[float, ...]) -> float:
    value = 5.0
    for term in terms:
        value = value_of(form, value, term)
    return value


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_steady_ones_do_not_depend_on_the_order_of_nan(form: q.Extern) -> None:
    found = reduction(assigned(form))
    assert found is not None
    results = {str(folded(form, terms)) for terms in permutations((1.0, math.nan, 9.0, 3.0))}
    assert found.steady == (len(results) == 1)


OTHER = q.Read(X, (), "f32")
OTHERS = [
    TERM,
    call("select_lt", OWN, TERM, OTHER, TERM),
    call("select_lt", OTHER, TERM, OWN, TERM),
    call("select_lt", OWN, TERM, OWN, OWN),
    call("select_eq", OWN, TERM, OWN, TERM),
    call("select_eq", TERM, TERM, OTHER, OWN),
    call("select_eq", TERM, TERM, call("select_lt", OWN, TERM, OWN, TERM), OTHER),
    call("max_", TERM, OTHER),
    call("max_", OWN, OWN),
    call("max_", OWN, q.BinOp("+", OWN, TERM, "f32")),
    call("max_", OWN, q.Read(M, (q.Affine(3),), "f32")),
    call("expf", OWN),
    call("unknown", OWN, TERM),
]


@pytest.mark.parametrize("value", OTHERS, ids=str)
def test_other_assignments_are_none(value: q.Expr) -> None:
    assert reduction(assigned(value)) is None


def test_sums_are_reductions() -> None:
    found = reduction(q.Reduce((), M, OWN.idx, TERM, "f32"))
    assert found is not None
    assert (found.operator, found.term, found.steady) == ("+", TERM, True)
