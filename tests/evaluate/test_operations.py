# ruff: noqa: B007, F821, F841
"""Operations that no schedule does without: what others are for is not counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exo import config, proc
from exo.libs.externs import expf, fmaxf, relu, select, sigmoid, sin, sqrt

from schedsearch.core.floats import FloatingPoint
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.roof.kinds import unit_of
from schedsearch.evaluate.roof.work import count_work
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror


def by_kind(
    procedure: Any, fp: FloatingPoint = FloatingPoint.FAST, **sizes: int
) -> dict[str, float]:
    ast = mirror(procedure)
    return dict(count_work(ast, bind(ast, sizes), fp).ops)


def costly(procedure: Any, fp: FloatingPoint = FloatingPoint.FAST) -> dict[str, float]:
    """Functions, divisions and roots."""
    found = by_kind(procedure, fp)
    return {kind: n for kind, n in found.items() if unit_of(kind) != "arithmetic"}


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


@pytest.mark.parametrize(
    ("procedure", "more"), [(scaled_first, 0), (scaled_last, 1), (by_a_temporary, 0)]
)
def test_what_is_the_same_for_all_iterations_is_done_once(procedure: Any, more: int) -> None:
    """`more`: the reciprocal."""
    assert operations(procedure) == 2 * 3 * 5 * 7 + 3 * 7 + more


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


# -- functions, divisions and roots ----------------------------------------------------


@proc
def softmax(y: f32[4, 6], x: f32[4, 6]):
    for i in seq(0, 4):
        top: f32
        top = x[i, 0]
        for j in seq(0, 6):
            top = fmaxf(top, x[i, j])
        total: f32
        total = 0.0
        for j in seq(0, 6):
            y[i, j] = expf(x[i, j] - top)
            total += y[i, j]
        for j in seq(0, 6):
            y[i, j] = y[i, j] / total


@proc
def softmax_in_two_passes(y: f32[4, 6], x: f32[4, 6]):
    for i in seq(0, 4):
        total: f32
        total = 0.0
        for j in seq(0, 6):
            total += expf(x[i, j])
        for j in seq(0, 6):
            e: f32
            e = expf(x[i, j])
            y[i, j] = e / total


@pytest.mark.parametrize("procedure", [softmax, softmax_in_two_passes])
def test_a_softmax_needs_an_exponential_each_and_a_division_a_row(procedure: Any) -> None:
    assert costly(procedure) == {"f32 expf": 4 * 6, "f32 /": 4}
    strict = costly(procedure, FloatingPoint.STRICT)
    assert strict == {"f32 expf": 4 * 6, "f32 /": 4 * 6}


def test_a_quotient_in_a_row_is_a_product_with_its_reciprocal() -> None:
    found = by_kind(softmax)
    assert found["f32"] + found["f32 min"] == 4 * 6 * 4  # less top, max, sum, times 1 / total
    assert found["f32 /"] == 4


@proc
def in_the_next_iteration(y: f32[4, 6], x: f32[4, 6]):
    for t in seq(0, 3):
        for i in seq(0, 4):
            for j in seq(0, 6):
                y[i, j] = expf(x[i, j])
            for j in seq(0, 6):
                x[i, j] = y[i, j] + expf(x[i, j])
            for j in seq(0, 6):
                y[i, j] += expf(x[i, j])


def test_equal_calls_count_again_once_an_operand_has_changed() -> None:
    assert costly(in_the_next_iteration) == {"f32 expf": 3 * 4 * 6 * 2}


@proc
def decaying(y: f32[9], s: f32):
    y[0] = expf(s)
    for t in seq(0, 9):
        y[t] += expf(s)
        s = s * 0.5


def test_what_a_loop_changes_is_not_known_in_it() -> None:
    assert costly(decaying) == {"f32 expf": 1 + 9}


@proc
def quotients(y: f32[9], a: f32[9], b: f32[9], c: f32[9]):
    for i in seq(0, 9):
        y[i] = a[i] / b[i] / c[i]


@proc
def other_quotients(y: f64[9], a: f64[9], b: f64[9], c: f64[9]):
    for i in seq(0, 9):
        y[i] = a[i] / (b[i] / c[i])
        a[i] = -c[i] / b[i] / 3.0


@proc
def of_two_loops(y: f32[4, 6], x: f32[4, 6], s: f32[4], t: f32[6]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            y[i, j] = x[i, j] / (s[i] * t[j])


@proc
def of_more_loops(y: f32[4, 6], x: f32[4, 6], s: f32[4]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            y[i, j] = 1.0 / (s[i] * x[i, j])


@proc
def summed_quotients(y: f32[4], x: f32[4, 6], s: f32[4]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            y[i] += x[i, j] / s[i]


@proc
def divided_sides(Y: f32[3, 5], C: f32[3, 7], X: f32[7, 9], D: f32[5, 9], s: f32[3], t: f32[5]):
    for u in seq(0, 3):
        for v in seq(0, 5):
            for x in seq(0, 7):
                for y in seq(0, 9):
                    Y[u, v] += C[u, x] / s[u] * X[x, y] * D[v, y] * sqrt(t[v])


def test_a_product_needs_one_division_at_most() -> None:
    assert by_kind(quotients) == {"f32": 9, "f32 /": 9}
    assert by_kind(quotients, FloatingPoint.STRICT) == {"f32 /": 18}
    assert costly(other_quotients) == {"f64 /": 9}  # both by the reciprocal of `b`
    assert costly(other_quotients, FloatingPoint.STRICT) == {"f64 /": 2 * 9 + 9}
    assert by_kind(of_two_loops) == {"f32": 2 * 4 * 6, "f32 /": 4 + 6}
    assert by_kind(of_more_loops) == {"f32": 4, "f32 /": 4 * 6}
    assert by_kind(summed_quotients) == {"f32": 2 * 4 * 6, "f32 /": 4}
    assert costly(divided_sides) == {"f32 /": 3, "f32 sqrt": 5}


@proc
def no_division(y: f32[9], x: f32[9], n: f32[9]):
    for i in seq(0, 9):
        y[i] = x[i] / 3.0
        x[i] = 2.0 * x[i] / (4.0 - 1.0)
        n[i] = 1.0 / 2.0


@proc
def of_integers(y: i32[9], x: i32[9]):
    for i in seq(0, 9):
        y[i] = x[i] * x[i] + x[i]


def test_what_divides_by_numbers_or_needs_none_has_nothing_of_its_own() -> None:
    for procedure in (no_division, of_integers, scaled_first, powers):
        assert not costly(procedure)


@proc
def reciprocal_root(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        y[i] = 1.0 / sqrt(x[i])


@proc
def kept_root(y: f32[9, 4], x: f32[9, 4]):
    for i in seq(0, 9):
        deviation: f32
        deviation = sqrt(x[i, 0])
        for j in seq(0, 4):
            y[i, j] = x[i, j] / deviation


@proc
def two_roots(y: f32[9], x: f32[9], z: f32[9]):
    for i in seq(0, 9):
        y[i] = z[i] / (sqrt(x[i]) * sqrt(z[i]))


@proc
def layer_norm(y: f32[4, 8], x: f32[4, 8]):
    for i in seq(0, 4):
        mean: f32
        mean = 0.0
        for j in seq(0, 8):
            mean += x[i, j] / 8.0
        variance: f32
        variance = 0.00001
        for j in seq(0, 8):
            variance += (x[i, j] - mean) * (x[i, j] - mean) / 8.0
        inverse: f32
        inverse = 1.0 / sqrt(variance)
        for j in seq(0, 8):
            y[i, j] = (x[i, j] - mean) * inverse


@proc
def size_of(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        y[i] = sqrt(x[i] * x[i])


def test_a_root_divides_as_fast_as_it_multiplies() -> None:
    assert costly(reciprocal_root) == {"f32 sqrt": 9}
    assert costly(reciprocal_root, FloatingPoint.STRICT) == {"f32 sqrt": 9, "f32 /": 9}
    assert costly(kept_root) == {"f32 sqrt": 9}
    assert costly(two_roots) == {"f32 sqrt": 9}
    assert costly(layer_norm) == {"f32 sqrt": 4}
    assert costly(size_of) == {}


@proc
def sigmoids(y: f32[9], x: f64[9], z: f32[9]):
    for i in seq(0, 9):
        y[i] = 1.0 / (1.0 + expf(-y[i]))
        x[i] = sigmoid(x[i])
        z[i] = expf(z[i]) * expf(y[i]) / expf(2.0)


def test_functions_go_by_their_names_and_types() -> None:
    assert costly(sigmoids) == {"f32 /": 9, "f32 expf": 9 + 9, "f64 sigmoid": 9}


@proc
def chosen(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        y[i] = select(x[i], 0.0, expf(x[i]) - 1.0, 1.0 / x[i])


def test_what_a_branch_may_leave_out_is_cheap() -> None:
    assert operations(chosen) == 9 * 4
    assert not costly(chosen)


@proc
def elimination(A: f64[9, 9]):
    for i in seq(0, 9):
        for j in seq(0, i):
            A[i, j] = A[i, j] / A[j, j]


def test_reciprocals_of_what_is_not_rewritten_may_be_kept() -> None:
    assert costly(elimination) == {"f64 /": 8}


@proc
def turned(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        y[i] = sin(x[i]) + sin(x[i])


def test_a_call_counts_once_in_a_sum() -> None:
    assert costly(turned) == {"f32 sin": 9}


@proc
def window_of_exponentials(y: f32[90], x: f32[100], w: f32[10]):
    for i in seq(0, 90):
        for j in seq(0, 10):
            y[i] += w[j] * expf(x[i + j])


@proc
def in_rows(y: f32[20], x: f32[320]):
    for i in seq(0, 20):
        for j in seq(0, 16):
            y[i] += expf(x[16 * i + j])


@proc
def of_two(y: f32[90], x: f32[100], w: f32[10]):
    for i in seq(0, 90):
        for j in seq(0, 10):
            y[i] += expf(x[i + j] * w[j])


def test_what_windows_share_needs_no_function_again() -> None:
    """There are a hundred exponentials of a hundred elements; about that many count."""
    assert costly(window_of_exponentials) == {"f32 expf": 90}
    assert costly(in_rows) == {"f32 expf": 320}
    assert costly(of_two) == {"f32 expf": 900}


@proc
def through_scalars(y: f64[9], x: f64[9], z: f64[9], w: f64[9]):
    for i in seq(0, 9):
        t: f64
        t = x[i] / z[i]
        y[i] = t / w[i]


@proc
def reciprocal_of_one(y: f64[9], x: f64[9], z: f64[9]):
    for i in seq(0, 9):
        t: f64
        t = 1.0 / x[i]
        y[i] = 1.0 / t + z[i]


@proc
def roots_through_scalars(y: f64[9], x: f64[9], z: f64[9]):
    for i in seq(0, 9):
        t: f64
        t = sqrt(x[i])
        y[i] = t * sqrt(z[i])


@proc
def root_squared(y: f64[9], x: f64[9]):
    for i in seq(0, 9):
        y[i] = sqrt(x[i]) * sqrt(x[i])


@proc
def overwritten_at_once(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        t: f32
        t = expf(x[i])
        y[i] = x[i]


@proc
def fourth_part(y: f32[64], x: f32[16]):
    for i in seq(0, 64):
        y[i] = expf(x[i / 4])


@proc
def neighbours(y: f32[64], x: f32[65]):
    for i in seq(0, 64):
        y[i] = expf(x[i]) + expf(x[i + 1])


@proc
def in_both_orders(y: f32[8, 9], z: f32[8, 9], x: f32[8, 9]):
    for i in seq(0, 8):
        for j in seq(0, 9):
            y[i, j] = expf(x[i, j])
    for j in seq(0, 9):
        for i in seq(0, 8):
            z[i, j] = expf(x[i, j])


@proc
def of_pairs(y: f32[8], x: f32[18]):
    for i in seq(0, 8):
        for j in seq(0, 9):
            y[i] += expf(x[i + j] - x[i + 1])


def doubled(steps: int) -> str:
    """Values that are each twice the one before in length, written out."""
    lines = ["t0: f32", "t0 = expf(x[i])"]
    for n in range(1, steps):
        lines += [f"t{n}: f32", f"t{n} = t{n - 1} * t{n - 1} + 1.0"]
    return "\n        ".join([*lines, f"y[i] = t{steps - 1}"])


def test_scalars_are_looked_through() -> None:
    """Compilers do it: their code would be above the roofline otherwise."""
    assert costly(through_scalars) == {"f64 /": 9}
    assert costly(roots_through_scalars) == {"f64 sqrt": 9}
    assert costly(reciprocal_of_one) == {}
    assert costly(overwritten_at_once) == {}


def test_what_folds_or_is_shared_is_not_counted_again() -> None:
    assert costly(root_squared) == {}
    assert costly(fourth_part)["f32 expf"] <= 16
    assert costly(neighbours) == {"f32 expf": 64}
    assert costly(in_both_orders) == {"f32 expf": 72}
    assert costly(of_pairs) == {"f32 expf": 72}


def test_values_that_double_in_length_are_counted_at_once(tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom exo import proc\n"
    head += "from exo.libs.externs import expf\n@proc\ndef doubling(y: f32[9], x: f32[9]):\n"
    file = tmp_path / "doubling.py"
    file.write_text(f"{head}    for i in seq(0, 9):\n        {doubled(40)}\n")
    ast = mirror(load_source(file).procs["doubling"])
    assert count_work(ast, bind(ast, {})).flops >= 2 * 9 * 39
