# ruff: noqa: B007, F821
"""Operations that no schedule does without: what others are for is not counted."""

from __future__ import annotations

from typing import Any

import pytest
from exo import config, proc
from exo.libs.externs import relu, sqrt

from schedsearch.core.floats import FloatingPoint
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.roof.work import count_work
from schedsearch.transforms.exo.mirror import mirror


def operations(procedure: Any, fp: FloatingPoint = FloatingPoint.FAST, **sizes: int) -> float:
    ast = mirror(procedure)
    return count_work(ast, bind(ast, sizes), fp).flops


@config
class Gain:
    factor: f32


@proc
def scaled_first(C: f32[3, 5], A: f32[3, 7], B: f32[7, 5], alpha: f32):
    for i in seq(0, 3):
        for j in seq(0, 5):
            for k in seq(0, 7):
                C[i, j] += alpha * A[i, k] * B[k, j]


@proc
def scaled_last(C: f32[3, 5], A: f32[3, 7], B: f32[7, 5], alpha: f32):
    for i in seq(0, 3):
        for j in seq(0, 5):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j] / alpha


@proc
def by_a_temporary(C: f32[3, 5], A: f32[3, 7], B: f32[7, 5], alpha: f32):
    for i in seq(0, 3):
        for j in seq(0, 5):
            for k in seq(0, 7):
                scaled: f32
                scaled = alpha * A[i, k]
                C[i, j] += scaled * B[k, j]


@pytest.mark.parametrize("procedure", [scaled_first, scaled_last, by_a_temporary])
def test_what_is_the_same_for_all_iterations_is_done_once(procedure: Any) -> None:
    assert operations(procedure) == 2 * 3 * 5 * 7 + 3 * 7


@proc
def both_sides(Y: f32[3, 5], C: f32[3, 7], X: f32[7, 9], D: f32[5, 9]):
    for u in seq(0, 3):
        for v in seq(0, 5):
            for x in seq(0, 7):
                for y in seq(0, 9):
                    Y[u, v] += C[u, x] * X[x, y] * D[v, y]


@proc
def both_sides_of_any_size(n: size, Y: f32[n, n], C: f32[n, n], X: f32[n, n], D: f32[n, n]):
    for u in seq(0, n):
        for v in seq(0, n):
            for x in seq(0, n):
                for y in seq(0, n):
                    Y[u, v] += C[u, x] * X[x, y] * D[v, y]


@proc
def quadratic_form(s: f32[9], X: f32[9, 5], A: f32[5, 5]):
    for n in seq(0, 9):
        for i in seq(0, 5):
            for j in seq(0, 5):
                s[n] += X[n, i] * A[i, j] * X[n, j]


@proc
def where_a_condition_holds(s: f32[9], X: f32[9, 5], A: f32[5, 5]):
    for n in seq(0, 9):
        for i in seq(0, 5):
            for j in seq(0, 5):
                if i < 4:
                    s[n] += X[n, i] * A[i, j] * X[n, j]


def test_sums_of_products_are_taken_in_the_best_order() -> None:
    assert operations(both_sides) == 2 * (3 * 7 * 9 + 3 * 9 * 5)
    assert operations(both_sides_of_any_size, n=10) == 2 * 2 * 10**3
    assert operations(quadratic_form) == 2 * (9 * 5 * 5 + 9 * 5)
    assert operations(where_a_condition_holds) == 3 * 9 * 4 * 5


@proc
def separable(y: f32[40, 9], g: f32[5], h: f32[4], x: f32[44, 12]):
    for i in seq(0, 40):
        for j in seq(0, 9):
            for r in seq(0, 5):
                for s in seq(0, 4):
                    y[i, j] += g[r] * h[s] * x[i + r, j + s]


@proc
def mean(y: f32[40, 9], x: f32[44, 13]):
    for i in seq(0, 40):
        for j in seq(0, 9):
            y[i, j] = 0.0
            for r in seq(0, 5):
                for s in seq(0, 5):
                    y[i, j] += x[i + r, j + s]


@proc
def not_separable(y: f32[40, 9], w: f32[5, 4], x: f32[44, 12]):
    for i in seq(0, 40):
        for j in seq(0, 9):
            for r in seq(0, 5):
                for s in seq(0, 4):
                    y[i, j] += w[r, s] * x[i + r, j + s]


def test_what_neighbouring_windows_share_is_summed_up_once() -> None:
    assert operations(separable) == 40 * 9 * 2 * (4 + 5)
    assert operations(mean) == 40 * 9 * (5 + 5)
    assert operations(not_separable) == 40 * 9 * 2 * 4 * 5
    at_once = 40 * 9 * 2 * 4 * 5 + 5 * 4
    assert operations(separable, FloatingPoint.REASSOCIATE) >= at_once


@pytest.mark.parametrize("fp", [FloatingPoint.STRICT, FloatingPoint.REASSOCIATE])
def test_no_schedule_takes_factors_out_of_sums_where_that_is_ruled_out(fp: FloatingPoint) -> None:
    """Of `C * X * D` one product is computed before it varies with all loops."""
    assert operations(both_sides, fp) == 2 * 3 * 5 * 7 * 9 + 3 * 7 * 9


@proc
def normalised(y: f32[4, 6], x: f32[4, 6], v: f32[4]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            y[i, j] = x[i, j] * relu(sqrt(v[i] + 0.1) + 1.0 * 2.0)


def test_functions_are_called_once_for_equal_arguments_and_constants_fold() -> None:
    assert operations(normalised) == 4 * 6 + 4 * 4


@proc
def repeated(y: f32[9], x: f32[9], z: f32[9]):
    for i in seq(0, 9):
        y[i] = (x[i] - z[i]) * (x[i] - z[i])
        z[i] = x[i] - z[i]
        y[i] += x[i] - z[i]


def test_equal_expressions_count_once_until_an_operand_changes() -> None:
    assert operations(repeated) == 9 * (2 + 0 + 2)


@proc
def powers(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        y[i] = x[i] * x[i] * x[i] * x[i] * x[i]
        y[i] += x[i] + x[i] + x[i]


def test_repeated_factors_are_squared_and_repeated_terms_multiplied() -> None:
    assert operations(powers) == 9 * (3 + 1 + 1)


@proc
def carried(x: f32[8], y: f32[8], s: f32):
    for t in seq(0, 10):
        s = s * 2.0
        for i in seq(0, 8):
            x[i] = y[i] * s + x[i]
            y[i] = s * 0.5


def test_what_a_loop_changes_is_computed_in_each_iteration() -> None:
    assert operations(carried) == 10 * (1 + 8 * 2 + 1)


@proc
def gained(y: f32[6], x: f32[6]):
    for t in seq(0, 3):
        Gain.factor = 2.0
        for i in seq(0, 6):
            y[i] += Gain.factor * 3.0 * x[i]


def test_configuration_is_a_value_like_others() -> None:
    assert operations(gained) == 3 * (6 * 2 + 1)


@proc
def of_rows(n: size, y: f32[n, n], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i, j] = (x[j] + 1.0) * (z[i] + 1.0)


def test_in_triangles_the_longest_row_counts_for_what_rows_share() -> None:
    n = 12
    assert operations(of_rows, n=n) == n * (n - 1) // 2 + (n - 1) + (n - 1)
