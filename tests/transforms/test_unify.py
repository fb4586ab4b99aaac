"""Elimination finds operands where z3 does, and what it finds satisfies the equations."""

from __future__ import annotations

from typing import Any

import pytest
from exo.core.prelude import Sym
from exo.rewrite.LoopIR_unification import UEq
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.transforms.exo.speed import unify
from schedsearch.transforms.exo.speed.facts import Undecided

HOLES = [Sym(name) for name in ("a", "b", "c")]
KNOWNS = [Sym(name) for name in ("x", "y")]
FOREIGN = Sym("l")
CHOICES = [Sym("which"), Sym("other")]

terms = st.one_of(
    st.integers(-3, 3).map(UEq.Const),
    st.sampled_from([*HOLES, *HOLES, *KNOWNS, FOREIGN]).map(UEq.Var),
)
expressions = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds(UEq.Add, inner, inner), st.builds(UEq.Scale, st.sampled_from([-1, 2, 3]), inner)
    ),
    max_leaves=4,
)
predicates = st.recursive(
    st.builds(UEq.Eq, expressions, expressions),
    lambda inner: st.one_of(
        st.builds(UEq.Conj, st.lists(inner, min_size=1, max_size=2)),
        st.builds(UEq.Disj, st.lists(inner, min_size=1, max_size=3)),
        st.builds(UEq.Cases, st.sampled_from(CHOICES), st.lists(inner, min_size=2, max_size=2)),
    ),
    max_leaves=5,
)
problems = st.lists(predicates, min_size=1, max_size=3).map(
    lambda preds: UEq.problem(HOLES, KNOWNS, preds)
)


def value(expr: Any, solution: dict[Any, Any]) -> dict[Any, int]:
    """Coefficients of an expression with the holes filled."""
    match expr:
        case UEq.Const():
            return {None: expr.val}
        case UEq.Var():
            filled = solution.get(expr.name) if expr.name in HOLES else None
            return value(filled, {}) if filled else {expr.name: 1}
        case UEq.Add():
            one, other = value(expr.lhs, solution), value(expr.rhs, solution)
            return {x: one.get(x, 0) + other.get(x, 0) for x in one | other}
        case _:
            return {x: expr.coeff * c for x, c in value(expr.e, solution).items()}


def holds(pred: Any, solution: dict[Any, Any]) -> bool:
    match pred:
        case UEq.Eq():
            one, other = value(pred.lhs, solution), value(pred.rhs, solution)
            return all(one.get(x, 0) == other.get(x, 0) for x in one | other)
        case UEq.Conj():
            return all(holds(p, solution) for p in pred.preds)
        case UEq.Disj():
            return any(holds(p, solution) for p in pred.preds)
        case _:
            return holds(pred.cases[solution[pred.case_var]], solution)


@pytest.mark.normal
@settings(max_examples=150)
@given(problems)
def test_solutions_are_found_where_z3_finds_them(problem: Any) -> None:
    try:
        found = unify.solve(problem)
    except Undecided:
        return
    assert (found is None) == (unify._exo_solve(problem) is None)
    if found is not None:
        assert all(holds(pred, found) for pred in problem.preds)


def test_windows_lie_along_the_last_dimensions_if_that_is_open() -> None:
    """`a[i, k]` as a window of one element: Exo numbers `a[i, k:k+1]` first."""
    fits = [UEq.Eq(UEq.Var(HOLES[0]), UEq.Var(x)) for x in KNOWNS]
    found = unify.solve(UEq.problem(HOLES[:1], KNOWNS, [UEq.Cases(CHOICES[0], fits)]))
    assert found is not None
    assert found[CHOICES[0]] == 0


def test_fractions_are_left_to_z3() -> None:
    two, three = (UEq.Scale(c, UEq.Var(x)) for c, x in zip((2, 3), HOLES, strict=False))
    problem = UEq.problem(HOLES, KNOWNS, [UEq.Eq(UEq.Add(two, three), UEq.Var(KNOWNS[0]))])
    with pytest.raises(Undecided):
        unify.solve(problem)
    assert problem.solve() is not None  # 2 a + 3 b = x: a = -x, b = x
    half = UEq.problem(HOLES, KNOWNS, [UEq.Eq(two, UEq.Var(KNOWNS[0]))])
    assert unify.solve(half) is None
