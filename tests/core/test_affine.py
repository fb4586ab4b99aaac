"""Affine normal form against integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core import ast as q

VARS = tuple(q.Var(name, uid) for uid, name in enumerate("ijkn"))
Env = dict[q.Var, int]
Pair = tuple[q.Affine, Callable[[Env], int]]
"""An affine expression, and the same value by Python's own integers."""


def leaf(value: q.Var | int) -> Pair:
    if isinstance(value, q.Var):
        return q.as_affine(value), lambda env: env[value]
    return q.as_affine(value), lambda env: value


def grow(pairs: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    small = st.integers(-9, 9)
    den = st.integers(1, 12)
    return st.one_of(
        st.builds(lambda a, b: (a[0] + b[0], lambda env: a[1](env) + b[1](env)), pairs, pairs),
        st.builds(lambda a, b: (a[0] - b[0], lambda env: a[1](env) - b[1](env)), pairs, pairs),
        st.builds(lambda a, c: (a[0].scaled(c), lambda env: a[1](env) * c), pairs, small),
        st.builds(lambda a, d: (q.floor_div(a[0], d), lambda env: a[1](env) // d), pairs, den),
        st.builds(lambda a, d: (q.modulo(a[0], d), lambda env: a[1](env) % d), pairs, den),
    )


PAIRS = st.recursive(
    st.one_of(st.sampled_from(VARS), st.integers(-30, 30)).map(leaf), grow, max_leaves=12
)
ENVS = st.fixed_dictionaries({var: st.integers(-50, 50) for var in VARS})


@pytest.mark.normal
@given(PAIRS, ENVS)
def test_value_is_that_of_integer_arithmetic(pair: Pair, env: Env) -> None:
    value, expected = pair
    assert q.evaluate_affine(value, lambda atom: env[atom]) == expected(env)


@pytest.mark.normal
@given(st.lists(PAIRS, min_size=2, max_size=6), st.randoms())
def test_order_of_terms_does_not_matter(pairs: list[Pair], random: object) -> None:
    values = [value for value, _ in pairs]
    shuffled = list(values)
    random.shuffle(shuffled)
    left, right = q.Affine(), q.Affine()
    for a, b in zip(values, shuffled, strict=True):
        left, right = left + a, b + right
    assert left == right
    assert hash(left) == hash(right)


@pytest.mark.normal
@given(PAIRS)
def test_normal_form_has_no_zero_and_no_repeated_terms(pair: Pair) -> None:
    value = pair[0]
    atoms = [atom for atom, _ in value.terms]
    assert len(set(atoms)) == len(atoms)
    assert all(coefficient for _, coefficient in value.terms)
    assert value - value == q.Affine(0)
    assert value.scaled(2) == value + value


def test_names_do_not_matter_but_uids_do() -> None:
    assert q.as_affine(q.Var("i", 3)) == q.as_affine(q.Var("renamed", 3))
    assert q.as_affine(q.Var("i", 3)) != q.as_affine(q.Var("i", 4))


def test_multiples_leave_divisions() -> None:
    i, j = q.as_affine(VARS[0]), q.as_affine(VARS[1])
    assert q.floor_div(i.scaled(8) + j, 8) == i + q.floor_div(j, 8)
    assert q.modulo(i.scaled(8) + j, 8) == q.modulo(j, 8)
    assert q.modulo(i.scaled(8), 8) == q.Affine(0)


def test_one_variable_is_recognised() -> None:
    i = q.as_affine(VARS[0])
    assert i.as_var == VARS[0]
    assert [(i + 1).as_var, i.scaled(2).as_var, (i + VARS_SUM).as_var] == [None] * 3


VARS_SUM = q.as_affine(VARS[1]) + q.as_affine(VARS[2])
