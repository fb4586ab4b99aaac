"""Interval analysis is sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transforms.helpers import kernels

from schedsearch.analysis.ranges import bind_args, bind_loop, bounds
from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import mirror

from .expressions import VALUES, VARS

RANGES = st.tuples(*[st.tuples(st.integers(-20, 20), st.integers(0, 20)) for _ in VARS])


@pytest.mark.normal
@given(VALUES, RANGES, st.tuples(*[st.floats(0, 1)] * len(VARS)))
def test_values_are_within_bounds(
    value: q.Affine, spans: tuple[tuple[int, int], ...], at: tuple[float, ...]
) -> None:
    ranges = {uid: (low, low + width) for uid, (low, width) in enumerate(spans)}
    env = {uid: low + round(at[uid] * width) for uid, (low, width) in enumerate(spans)}
    low, high = bounds(value, {uid: (float(a), float(b)) for uid, (a, b) in ranges.items()})
    assert low <= q.evaluate_affine(value, lambda var: env[var.uid]) <= high


@pytest.mark.normal
@given(VALUES, st.tuples(*[st.integers(-100, 100)] * len(VARS)))
def test_unknown_variables_are_unbounded(value: q.Affine, env: tuple[int, ...]) -> None:
    low, high = bounds(value, {0: (env[0], env[0])})
    assert low <= q.evaluate_affine(value, lambda var: env[var.uid]) <= high


@given(VALUES, st.integers(1, 12), st.integers(-3, 3), st.tuples(*[st.integers(-99, 99)] * 3))
def test_a_remainder_written_out_is_bounded(
    value: q.Affine, den: int, factor: int, env: tuple[int, ...]
) -> None:
    remainder = (value - q.floor_div(value, den).scaled(den)).scaled(factor)
    low, high = bounds(remainder, {})
    assert low <= q.evaluate_affine(remainder, lambda var: env[var.uid]) <= high
    assert high - low <= abs(factor) * (den - 1)


def test_sizes_are_positive_and_loops_stay_within_their_bounds() -> None:
    ast = mirror(kernels()["triangle"])
    ranges = {}
    bind_args(ranges, [(arg.var.uid, arg.type == "size") for arg in ast.args])
    n = ast.args[0].var.uid
    assert ranges == {n: (1, float("inf"))}
    outer = ast.body[0]
    bind_loop(ranges, outer.iter.uid, outer.lo, outer.hi)
    assert ranges[outer.iter.uid] == (0, float("inf"))
    fixed = mirror(kernels()["ranges"]).body[1]
    bind_loop(ranges, fixed.iter.uid, fixed.lo, fixed.hi)
    assert ranges[fixed.iter.uid] == (4, 11)
