"""Conditions mean what Python makes of their text."""

from __future__ import annotations

import numpy as np
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.analysis import solver
from schedsearch.analysis.conditions import (
    COMPARISONS,
    NEGATED,
    at_most_zero,
    conjuncts,
    holds,
    possible,
)
from schedsearch.core import ast as q
from schedsearch.core.text import show_expr
from schedsearch.evaluate.roof.elements import truth

from .expressions import CONDITIONS, FLAG, POINTS, VARS

pytestmark = pytest.mark.normal

Point = dict[q.Atom, int]


def meaning(cond: q.Expr, at: Point) -> bool:
    text = show_expr(cond).replace("/", "//")
    return bool(eval(text, {var.name: value for var, value in at.items()}))  # type: ignore[union-attr]


@given(CONDITIONS, POINTS)
def test_a_condition_of_numbers(cond: q.Expr, at: Point) -> None:
    assert holds(cond, at) == meaning(cond, at)


@given(CONDITIONS, POINTS)
def test_a_condition_as_a_solver_has_it(cond: q.Expr, at: Point) -> None:
    term = solver.truth(
        cond, lambda a: z3.IntVal(at[a]), lambda read: z3.BoolVal(at[read.buf] == 1)
    )
    assert z3.is_true(z3.simplify(term)) == meaning(cond, at)


@given(CONDITIONS, st.lists(POINTS, min_size=1, max_size=4))
def test_a_condition_at_several_points(cond: q.Expr, points: list[Point]) -> None:
    found = truth(cond, {}, {var: np.array([at[var] for at in points]) for var in VARS})
    if FLAG in q.expr_vars(cond):
        assert found is None
    else:
        assert np.broadcast_to(found, len(points)).tolist() == [meaning(cond, at) for at in points]


@given(CONDITIONS, POINTS)
def test_what_follows_from_a_condition(cond: q.Expr, at: Point) -> None:
    if meaning(cond, at):
        assert all(meaning(part, at) for part in conjuncts(cond))
        assert all(q.evaluate_affine(v, at.__getitem__) <= 0 for v in at_most_zero(cond))


@given(st.sampled_from(sorted(NEGATED)), st.integers(-2, 2), st.integers(-2, 2))
def test_the_opposite_of_a_comparison(op: str, one: int, other: int) -> None:
    assert COMPARISONS[NEGATED[op]](one, other) is not COMPARISONS[op](one, other)


@given(CONDITIONS, POINTS)
def test_the_branch_that_is_taken_is_possible(cond: q.Expr, at: Point) -> None:
    branch = q.If((0,), cond, (q.Pass((0, 0)),), ())
    found = possible(branch, frozenset(VARS), lambda v: q.evaluate_affine(v, at.__getitem__))
    assert (branch.body if meaning(cond, at) else branch.orelse) in found
    assert FLAG in q.expr_vars(cond) or len(found) == 1
