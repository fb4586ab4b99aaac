"""Loops whose iterations need the result of the one before, and some that only look so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exo import proc
from exo.libs.externs import fmaxf, relu, select

from schedsearch.frontends.functions import module_text

if TYPE_CHECKING:
    max_: Any
    min_: Any
    select_eq: Any
    select_lt: Any

exec(module_text(["max_", "min_", "select_eq", "select_lt"]))


@proc
def running(n: size, y: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = y[j] + x[j]


@proc
def five_points(n: size, m: size, a: f64[n + 2, m + 2], b: f64[n + 2, m + 2]):
    for i in seq(1, n + 1):
        for j in seq(1, m + 1):
            a[i, j] = b[i, j] - (a[i, j + 1] + a[i - 1, j] - a[i, j] + a[i, j - 1] - a[i + 1, j])


@proc
def nine_points(n: size, m: size, a: f64[n + 2, m + 2]):
    for i in seq(1, n + 1):
        for j in seq(1, m + 1):
            a[i, j] = 0.125 * (
                (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1])
                + (a[i, j - 1] + a[i, j] + a[i, j + 1])
                + (a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1])
            )


@proc
def added(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] += 0.5 * (x[j] - y[j])


@proc
def divided(n: size, w: f64[2], y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = -((x[j] - w[1]) / 4.0 + (y[j] - x[j]) / -2.0)


@proc
def scaled(n: size, f: f64, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] - f * (0.5 * y[j])


@proc
def growing(n: size, f: f64, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] - f * (3.0 * y[j])


@proc
def twice(y: f32[67], x: f32[67]):
    for j in seq(3, 67):
        y[j] = 0.25 * (y[j - 1] + x[j]) - y[j - 1]


@proc
def nothing_else(y: f64[40]):
    for j in seq(0, 39):
        y[j + 1] = -y[j]


@proc
def may_be_empty(n: size, y: f32[n, n + 1], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i, j + 1] = y[i, j] - x[j]


@proc
def second_order(n: size, c: f64[3], y: f64[n + 2], x: f64[n]):
    for j in seq(0, n):
        y[j + 2] = c[0] * x[j] - 0.125 * c[1] * y[j + 1] - 0.125 * c[2] * y[j]


@proc
def resonant(n: size, y: f32[n + 2], x: f32[n]):
    for j in seq(0, n):
        y[j + 2] = x[j] + 1.25 * y[j + 1] - 0.5 * y[j]


@proc
def halves_of_both(n: size, y: f64[n + 2], x: f64[n]):
    for j in seq(0, n):
        y[j + 2] += x[j] + 0.5 * (y[j + 1] - y[j])


@proc
def fibonacci(n: size, f: f64, y: f64[n + 2]):
    for j in seq(0, n):
        y[j + 2] = f * y[j + 1] + f * y[j]


@proc
def third_order_in_an_array(n: size, y: f64[n + 3]):
    for j in seq(0, n):
        y[j + 3] = 0.5 * y[j + 2] - 0.25 * y[j]


@proc
def no_resonance(n: size, y: f64[n + 2]):
    for j in seq(0, n):
        y[j + 2] = 1.75 * y[j + 1] - 0.5 * y[j]


@proc
def no_product_of_both(n: size, y: f64[n + 2]):
    for j in seq(0, n):
        y[j + 2] = y[j + 1] * y[j]


@proc
def every_other(n: size, y: f64[n + 2], x: f64[n]):
    for j in seq(0, n):
        y[j + 2] = y[j] + x[j]


@proc
def products(n: size, y: f64[n + 1], w: f64[n]):
    for j in seq(0, n):
        y[j + 1] = w[j] * y[j] * 0.5


@proc
def no_product(n: size, y: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = y[j] * y[j]


@proc
def no_quotient(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] / y[j]


@proc
def no_quotient_of_a_number(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] - 2.0 / y[j]


@proc
def compound(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = 1.0625 * y[j] + x[j]


@proc
def no_growth(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = 1.5 * y[j] + x[j]


@proc
def running_maximum(n: size, y: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = fmaxf(y[j], 0.25 * x[j] * x[j] - 1.0)


@proc
def whole_numbers(n: size, y: i32[n + 1], x: i32[n]):
    for j in seq(0, n):
        y[j + 1] = y[j] + x[j]


@proc
def no_columns(n: size, y: f64[n + 1, 4], x: f64[n]):
    for j in seq(0, n):
        y[j + 1, 2] = y[j, 2] + x[j]


@proc
def no_backwards(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[n - j - 1] = y[n - j] + x[j]


@proc
def no_unknown_row(n: size, k: index, y: f64[4, n + 1]):
    assert k >= 0 and k < 4
    for i in seq(0, 4):
        for j in seq(0, n):
            y[i, j + 1] = y[i, j] + y[k, j]


@proc
def no_factor_that_changes(n: size, y: f64[n + 4], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = y[3] * y[j] + x[j]


@proc
def no_independent_iterations(n: size, y: f64[n + 1]):
    for j in seq(0, n):
        y[j] = y[j] + y[j + 1]


@proc
def two_arrays(n: size, y: f64[n + 1], z: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = 0.5 * y[j] + 0.25 * z[j]
        z[j + 1] = y[j]


@proc
def scanned(n: size, y: f32[n], x: f32[n]):
    s: f32
    s = 0.0
    for j in seq(0, n):
        s += x[j]
        y[j] = s


@proc
def smoothed(n: size, f: f64[1], y: f64[n], z: f64[n], x: f64[n], s: f64[2]):
    for j in seq(0, n):
        s[1] = x[j] - f[0] * (0.5 * s[1])
        y[j] = 2.0 * s[1]
        z[j] += s[1] * x[j]


@proc
def exclusive(n: size, y: f32[n], x: f32[n], s: f32):
    for j in seq(0, n):
        y[j] = s
        s = s + x[j] * x[j]
        x[j] = s


@proc
def with_locals(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        t: f64
        t = 2.0 * x[j] + 1.0
        s = 0.5 * s + t
        y[j] = s - t


@proc
def no_own_place(n: size, y: f64[n + 1], s: f64[3]):
    for j in seq(0, n):
        s[1] = 0.5 * s[1] + s[2]
        y[j] = s[1]


@proc
def no_shift(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        y[j] = s
        s = 0.5 * s + y[j]


@proc
def factor_in_a_scalar(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        t: f64
        t = 0.25 * x[j]
        s = t * s + x[j]
        y[j] = s


@proc
def sums_of_states(n: size, y: f64[n], x: f64[n], s: f64, t: f64):
    for j in seq(0, n):
        s = 0.5 * s + x[j]
        t += s
        y[j] = s


@proc
def delayed(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        y[j] = s
        s = x[j]


@proc
def no_values_of_other_lanes(n: size, y: f64[n + 1], x: f64[n], s: f64):
    for j in seq(0, n):
        s = 0.5 * s + x[j]
        y[j] = s + y[j + 1]
        y[j + 1] = s


@proc
def two_states(
    n: size, x: f32[n], y: f32[n], b0: f32, b1: f32, b2: f32, a1: f32, a2: f32, z: f32[2]
):
    for j in seq(0, n):
        o: f32
        o = b0 * x[j] + z[0]
        z[0] = b1 * x[j] + z[1] - a1 * o
        z[1] = b2 * x[j] - a2 * o
        y[j] = o


@proc
def history(n: size, x: f64[n], y: f64[n], h: f64[4], b: f64[3]):
    for j in seq(0, n):
        y[j] = b[0] * x[j] + b[1] * h[0] - 0.25 * h[1] + 1.5 * h[2] - 0.625 * h[3]
        h[1] = h[0]
        h[0] = x[j]
        h[3] = h[2]
        h[2] = y[j]


@proc
def oscillating(n: size, x: f32[n], c: f32, s1: f32, s2: f32):
    for j in seq(0, n):
        s0: f32
        s0 = x[j] + c * s1 - s2
        s2 = s1
        s1 = s0


@proc
def growing_states(n: size, x: f64[n], y: f64[n], g: f64, s: f64, t: f64):
    for j in seq(0, n):
        y[j] = s
        t = g * s + x[j]
        s = t


@proc
def mean_and_variance(n: size, x: f64[n], m: f64[n], v: f64[n], mu: f64, va: f64):
    for j in seq(0, n):
        d: f64
        d = x[j] - mu
        mu += 0.05 * d
        va = 0.95 * (va + 0.05 * d * d)
        m[j] = mu
        v[j] = va


@proc
def in_series(n: size, x: f64[n], y: f64[n], z: f64[2, 2]):
    for j in seq(0, n):
        o: f64
        o = 0.5 * x[j] + z[0, 0]
        z[0, 0] = 0.75 * x[j] + z[0, 1] - 0.5 * o
        z[0, 1] = 0.125 * x[j] - 0.25 * o
        p: f64
        p = 0.25 * o + z[1, 0]
        z[1, 0] = 0.75 * o + z[1, 1] + 0.5 * p
        z[1, 1] = 0.125 * o - 0.5 * p
        x[j] = p
        y[j] += p


@proc
def history_from_the_end(n: size, x: f32[n], y: f32[n], h: f32[2]):
    for j in seq(0, n):
        y[n - 1 - j] = 0.5 * x[n - 1 - j] + 0.75 * h[0] - 0.25 * h[1]
        h[1] = h[0]
        h[0] = y[n - 1 - j]


@proc
def no_more_than_sums(n: size, x: f64[n], y: f64[n], s: f64, t: f64):
    for j in seq(0, n):
        s += x[j] * y[j]
        t += x[j]


@proc
def third_order(n: size, x: f64[n], y: f64[n], h: f64[3]):
    for j in seq(0, n):
        y[j] = 0.5 * x[j] + 0.25 * h[0] - 0.25 * h[1] + 0.125 * h[2]
        h[2] = h[1]
        h[1] = h[0]
        h[0] = y[j]


@proc
def rotation(n: size, y: f64[n], c: f64, s: f64, a: f64, b: f64):
    for j in seq(0, n):
        t: f64
        t = 0.25 * (c * a - s * b)
        b = 0.25 * (s * a + c * b)
        a = t
        y[j] = a


@proc
def factor_of_a_state(n: size, x: f64[n], y: f64[n], s: f64, t: f64):
    for j in seq(0, n):
        s = 0.25 * x[j]
        t = s * t + x[j]
        y[j] = t


@proc
def no_growing_history(n: size, x: f64[n], y: f64[n], h: f64[2]):
    for j in seq(0, n):
        y[j] = x[j] + 1.5 * h[0] + h[1]
        h[1] = h[0]
        h[0] = y[j]


@proc
def no_known_place(n: size, k: index, x: f64[n], h: f64[4]):
    assert k >= 0
    assert k < 4
    for j in seq(0, n):
        h[0] = 0.5 * h[0] + x[j]
        h[k] = h[0]


@proc
def from_the_end(n: size, y: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[n - 1 - j] = 0.5 * y[n - j] + x[n - 1 - j]


@proc
def rows_from_the_end(n: size, f: f64, y: f64[3, n + 2], x: f64[3, n + 4], c: f64[3]):
    for i in seq(0, 3):
        for j in seq(0, n):
            y[i, n - 1 - j] = f * y[i, n - j] + x[i, n + 1 - j] * c[i] - x[i, n + 3 - j]


@proc
def second_order_from_the_end(n: size, c: f64[3], y: f64[n + 2], x: f64[n]):
    for j in seq(0, n):
        y[n - 1 - j] = c[0] * y[n - j] + c[1] * y[n + 1 - j] + c[2] * x[n - 1 - j]


@proc
def scanned_from_the_end(n: size, y: f32[n], x: f32[n]):
    s: f32
    s = 0.0
    for j in seq(0, n):
        s += x[n - 1 - j]
        y[n - 1 - j] = s


@proc
def no_way_back(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[n - j] = 0.5 * y[n - 1 - j] + x[n - 1 - j]


@proc
def no_two_steps_back(n: size, y: f64[2 * n + 2], x: f64[n]):
    for j in seq(0, n):
        y[2 * n - 2 * j] = 0.5 * y[2 * n - 2 * j + 1] + x[n - 1 - j]


@proc
def gated(n: size, h: f32[n + 1], g: f32[n], x: f32[n]):
    for j in seq(0, n):
        z: f32
        z = 0.125 * g[j] + 0.5
        h[j + 1] = (1.0 - z) * h[j] + z * x[j]


@proc
def with_a_scalar_of_the_element_before(n: size, h: f64[n + 1], g: f64[n], x: f64[n]):
    for j in seq(0, n):
        d: f64
        d = x[j]
        d += -h[j]
        h[j + 1] = h[j] + 0.25 * g[j] * d


@proc
def back_substitution(n: size, d: f64[3, n], c: f64[3, n], x: f64[3, n + 1]):
    for i in seq(0, 3):
        for j in seq(0, n):
            x[i, n - 1 - j] = d[i, n - 1 - j] - 0.25 * c[i, n - 1 - j] * x[i, n - j]


@proc
def large_factors(n: size, y: f32[n + 1], w: f32[n], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] + select(w[j], 0.0, 0.0, 300.0 * w[j]) * y[j]


@proc
def nothing_grows(n: size, y: f32[n], w: f32[n]):
    s: f32
    s = 0.0
    for j in seq(0, n):
        s = (w[j] * w[j] + 1.0) * 1000000.0 * s
        y[j] = s


@proc
def sums_of_segments(n: size, y: f32[n + 1], w: f32[n], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = x[j] + select(w[j], x[j], 0.0, y[j])


@proc
def congruential(n: size, y: i32[n], w: i32[n], s: i32):
    for j in seq(0, n):
        s = s * 3 + w[j]
        y[j] = s


@proc
def weighted_whole_numbers(n: size, y: i32[n + 1], w: i32[n]):
    for j in seq(0, n):
        y[j + 1] += w[j] * y[j]


@proc
def uphill(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        s = select(s, x[j] * x[j] - 4.0, x[j] * x[j] - 4.0, s)
        y[j] = s


@proc
def alignment(n: size, m: size, H: f32[n + 1, m + 1], a: f32[n], b: f32[m]):
    for i in seq(0, n):
        for j in seq(0, m):
            H[i + 1, j + 1] = fmaxf(
                fmaxf(H[i, j] + select_eq(a[i], b[j], 2.0, -1.0), 0.0),
                fmaxf(H[i, j + 1] - 1.0, H[i + 1, j] - 0.75),
            )


@proc
def edit_distance(n: size, m: size, D: i32[n + 1, m + 1], a: i32[n], b: i32[m]):
    for i in seq(0, n):
        for j in seq(0, m):
            D[i + 1, j + 1] = min_(
                min_(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + select_eq(a[i], b[j], 0, 1)
            )


@proc
def no_sum_of_a_whole_minimum(n: size, m: size, D: i32[n + 1, m + 1], c: i32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            D[i + 1, j + 1] = min_(min_(D[i, j + 1], D[i, j]), D[i + 1, j]) + c[i, j]


@proc
def gaps(n: size, m: size, H: i32[n + 1, m + 1], s: i32[m], g: i32):
    for i in seq(0, n):
        for j in seq(0, m):
            H[i + 1, j + 1] = max_(max_(H[i, j] + s[j], 0), max_(H[i, j + 1] - 1, H[i + 1, j] - g))


@proc
def warping(n: size, m: size, D: f64[n + 1, m + 1], a: f64[n], b: f64[m]):
    for i in seq(0, n):
        for j in seq(0, m):
            D[i + 1, j + 1] = (a[i] - b[j]) * (a[i] - b[j]) + min_(
                min_(D[i, j + 1], D[i, j]), D[i + 1, j]
            )


@proc
def best_sum(n: size, x: f32[n], y: f32[n], s: f32, best: f32):
    for j in seq(0, n):
        s = max_(x[j], s + x[j])
        best = max_(best, s)
        y[j] += best


@proc
def best_whole_sum(n: size, x: i32[n], y: i32[n], s: i32, best: i32):
    for j in seq(0, n):
        s = max_(x[j], s + x[j])
        best = max_(best, s)
        y[j] += best


@proc
def above_a_limit(n: size, x: f32[n], y: f32[n], s: f32):
    for j in seq(0, n):
        s = relu(s + x[j] - 0.5)
        y[j] = s


@proc
def tracked(n: size, x: f64[n], y: f64[n], s: f64[2], g: f64):
    for j in seq(0, n):
        p: f64
        p = s[0] + 0.5 * s[1]
        r: f64
        r = x[j] - p
        s[0] = p + 0.75 * r
        s[1] += 0.125 * r
        y[j] = s[0]


@proc
def four_states(n: size, x: f32[n], y: f32[n], h: f32[4], f: f32[4]):
    for j in seq(0, n):
        o: f32
        o = x[j] + 0.125 * (f[0] * h[0] - f[1] * h[1]) + 0.125 * (f[2] * h[2] - f[3] * h[3])
        h[3] = h[2]
        h[2] = h[1]
        h[1] = h[0]
        h[0] = o
        y[j] = o


@proc
def growing_rotation(n: size, y: f64[n], x: f64[n], f: f64, a: f64, b: f64):
    for j in seq(0, n):
        t: f64
        t = f * a - 2.0 * b + x[j]
        b = f * b + 2.0 * a
        a = t
        y[j] = a


@proc
def no_five_states(n: size, x: f64[n], y: f64[n], h: f64[5]):
    for j in seq(0, n):
        y[j] = 0.125 * x[j] + 0.125 * h[0] + 0.125 * h[4]
        h[4] = h[3]
        h[3] = h[2]
        h[2] = h[1]
        h[1] = h[0]
        h[0] = y[j]


@proc
def no_rotation_by_another_angle(n: size, y: f64[n], c: f64[n], a: f64, b: f64):
    for j in seq(0, n):
        t: f64
        t = c[j] * a - 0.5 * b
        b = 0.5 * a + c[j] * b
        a = t
        y[j] = a


@proc
def no_maximum_alone(n: size, x: f64[n], s: f64, t: f64):
    for j in seq(0, n):
        s = max_(s, x[j])
        t = min_(t, x[j])


@proc
def no_negative_maximum(n: size, x: f64[n], y: f64[n], s: f64):
    for j in seq(0, n):
        s = 1.0 - max_(s, x[j])
        y[j] = s


@proc
def no_choice_by_itself(n: size, x: f64[n], y: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = select(y[j], 0.5, x[j], 0.5 * y[j])


@proc
def no_scalar_of_two_iterations(n: size, h: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        d: f64
        d = h[j] * h[j]
        h[j + 1] = d + x[j]


@proc
def rotation_in_arrays(n: size, y: f32[3, n + 1], z: f32[3, n + 1], x: f32[n], c: f32, s: f32):
    for i in seq(0, 3):
        for j in seq(0, n):
            y[i, j + 1] = 0.125 * (c * y[i, j] - s * z[i, j]) + x[j]
            z[i, j + 1] = 0.125 * (s * y[i, j] + c * z[i, j])


@proc
def rows_of_one_array(n: size, y: f64[3, n + 2], x: f64[n]):
    for j in seq(0, n):
        y[0, j + 2] = 0.5 * y[1, j + 1] + x[j] * y[2, j]
        y[1, j + 2] += 0.5 * y[0, j + 1] - 0.25 * y[1, j] + y[0, j + 2]


@proc
def arrays_from_the_end(n: size, y: f32[n + 1], z: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[n - 1 - j] = 0.5 * y[n - j] - 0.5 * z[n - j] + x[n - 1 - j]
        z[n - 1 - j] = 0.5 * y[n - j] + 0.5 * z[n - j]


@proc
def no_element_ahead(n: size, y: f64[n + 2], z: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = 0.5 * y[j] + z[j]
        z[j + 1] = y[j] + y[j + 2]


@proc
def element_ahead(n: size, y: f64[n + 2], z: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = 0.5 * y[j] + 0.25 * z[j] + y[j + 2]
        z[j + 1] = 0.5 * y[j]


@proc
def no_two_places(n: size, y: f64[n + 3], z: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = 0.5 * y[j] + 0.25 * z[j]
        z[j + 1] = 0.5 * y[j]
        y[j + 3] = 2.0


@proc
def common_subsequence(n: size, m: size, L: i32[n + 1, m + 1], a: i32[n], b: i32[m]):
    for i in seq(0, n):
        for j in seq(0, m):
            L[i + 1, j + 1] = select_eq(a[i], b[j], L[i, j] + 1, max_(L[i, j + 1], L[i + 1, j]))


@proc
def begun_anew(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        s = select_lt(x[j], 1.5, min_(s + 0.25 * x[j], 4.0), x[j])
        y[j] = s


@proc
def whole_numbers_begun_anew(n: size, y: i32[n], x: i32[n], w: i32[n], s: i32):
    for j in seq(0, n):
        s = select_lt(x[j], 2, max_(s - w[j], x[j]), 3)
        y[j] = s


@proc
def no_start_by_itself(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        s = select_lt(s, 1.5, min_(s + 0.25 * x[j], 4.0), x[j])
        y[j] = s


@proc
def decayed_maximum(n: size, y: i32[n], x: i32[n], s: i32):
    for j in seq(0, n):
        s = max_(x[j], s) - 2
        y[j] = s


@proc
def nearest_so_far(n: size, y: i32[n + 1], x: i32[n]):
    for j in seq(0, n):
        y[j + 1] = min_(x[j], y[j]) + 2


@proc
def distance_and_decay(n: size, y: i32[n], x: i32[n], s: i32, t: i32):
    for j in seq(0, n):
        t = s
        s = max_(x[j], max_(0, s) - 2)
        y[j] = t


@proc
def no_whole_sum_of_both(n: size, y: i32[n], x: i32[n], s: i32):
    for j in seq(0, n):
        s = max_(x[j], s + x[j]) - 2
        y[j] = s


@proc
def negative_twice(n: size, y: i32[n], s: i32):
    for j in seq(0, n):
        s = -(-1 - s)
        y[j] = s


@proc
def clipped(n: size, x: f64[n], y: f64[n], s: f64):
    for j in seq(0, n):
        s = max_(0.0, min_(1.0, s + 0.25 * x[j]))
        y[j] = s


@proc
def between_limits(n: size, y: f32[n + 1], x: f32[n], low: f32[n], high: f32[n]):
    for j in seq(0, n):
        y[j + 1] = min_(max_(min_(fmaxf(y[j] - x[j], low[j]), high[j]), -3.0), high[j] + 2.0)


@proc
def saturated(n: size, y: i32[n], x: i32[n], s: i32):
    for j in seq(0, n):
        s = min_(max_(s + x[j], -5), 4)
        y[j] = s


@proc
def kept_between(n: size, y: f64[n], x: f64[n], w: f64[n], s: f64):
    for j in seq(0, n):
        s = min_(max_(s, x[j]), w[j])
        y[j] = s


@proc
def no_sum_of_a_limited(n: size, x: f64[n], y: f64[n], s: f64):
    for j in seq(0, n):
        s = min_(max_(s, 0.0), 4.0) - x[j]
        y[j] = s


@proc
def affine_gaps(
    n: size,
    m: size,
    H: i32[n + 1, m + 1],
    E: i32[n + 1, m + 1],
    F: i32[n + 1, m + 1],
    a: i32[n],
    b: i32[m],
    begin: i32,
    extend: i32,
):
    for i in seq(0, n):
        for j in seq(0, m):
            E[i + 1, j + 1] = max_(E[i + 1, j] - extend, H[i + 1, j] - begin)
            F[i + 1, j + 1] = max_(F[i, j + 1] - extend, H[i, j + 1] - begin)
            H[i + 1, j + 1] = max_(
                max_(E[i + 1, j + 1], F[i + 1, j + 1]),
                max_(H[i, j] + select_eq(a[i], b[j], 3, -2), 0),
            )


@proc
def affine_gaps_in_rows(
    n: size, m: size, h: f32[m], f: f32[m], a: f32[n], b: f32[m], begin: f32, extend: f32
):
    for i in seq(0, n):
        e: f32
        e = -100.0
        left: f32
        left = 0.0
        diagonal: f32
        diagonal = 0.0
        for j in seq(0, m):
            t: f32
            t = diagonal + select_eq(a[i], b[j], 3.0, -2.0)
            e = max_(e - extend, left - begin)
            f[j] = max_(f[j] - extend, h[j] - begin)
            diagonal = h[j]
            left = max_(max_(t, f[j]), e)
            h[j] = left


@proc
def gaps_before(n: size, y: f64[n], x: f64[n], e: f64):
    for j in seq(0, n):
        t: f64
        t = min_(x[j], e)
        e = min_(e + 0.5, t + 2.0)
        y[j] = t


@proc
def no_gaps_of_other_costs(n: size, y: f64[n], x: f64[n], w: f64[n], e: f64):
    for j in seq(0, n):
        t: f64
        t = min_(x[j], e)
        e = min_(e + 0.5, t + w[j])
        y[j] = t


@proc
def no_gap_after_the_one_before(n: size, y: f64[n], x: f64[n], e: f64, h: f64):
    for j in seq(0, n):
        t: f64
        t = max_(e, x[j])
        e = max_(e - 0.5, h - 1.5)
        h = t
        y[j] = h


@proc
def envelope(n: size, x: f32[n], y: f32[n], s: f32):
    for j in seq(0, n):
        s = max_(x[j], 0.75 * s)
        y[j] = s


@proc
def leaking_store(n: size, x: f64[n], y: f64[n + 1], high: f64[n], k: f64):
    for j in seq(0, n):
        y[j + 1] = min_(max_(0.0625 * k * k * y[j] + x[j], 0.0), high[j])


@proc
def store_that_grows(n: size, x: f32[n], y: f32[n + 1], k: f32):
    for j in seq(0, n):
        y[j + 1] = max_(k * y[j], 0.0) + x[j]


@proc
def cells(n: size, x: f64[n], y: f64[n], s: f64):
    for j in seq(0, n):
        s = relu(0.5 * s + 0.75)
        y[j] = s


@proc
def scaled_or_begun_anew(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        s = select_lt(x[j], 1.5, min_(0.5 * s + 0.25 * x[j], 4.0), x[j])
        y[j] = s


@proc
def small_factor(n: size, x: f32[n], y: f32[n + 1]):
    for j in seq(0, n):
        y[j + 1] = x[j] + 0.001 * y[j]


@proc
def gates(n: size, x: f32[n], w: f32[n], y: f32[n + 1]):
    for j in seq(0, n):
        y[j + 1] = x[j] + w[j] * y[j]


@proc
def small_factors_of_both(n: size, x: f32[n], y: f32[n + 2]):
    for j in seq(0, n):
        y[j + 2] = x[j] + 0.0001 * y[j + 1] + 0.000002 * y[j]


@proc
def small_pair(n: size, x: f32[n], y: f32[n], a: f32, b: f32):
    for j in seq(0, n):
        t: f32
        t = 0.0001 * a + 0.0002 * b + x[j]
        b = 0.0001 * b + 0.0002 * a
        a = t
        y[j] = a


@proc
def pair(n: size, x: f64[n], y: f64[n], f: f64, a: f64, b: f64):
    for j in seq(0, n):
        t: f64
        t = f * a + f * b + x[j]
        b = f * b + 0.5 * f * a
        a = t
        y[j] = a


@proc
def no_negative_scale(n: size, x: f32[n], y: f32[n], s: f32):
    for j in seq(0, n):
        s = max_(x[j], -0.75 * s)
        y[j] = s


@proc
def no_scale_of_each(n: size, x: f32[n], y: f32[n], w: f32[n], s: f32):
    for j in seq(0, n):
        s = max_(x[j], w[j] * s)
        y[j] = s


@proc
def no_scale_of_whole_numbers(n: size, x: i32[n], y: i32[n], s: i32):
    for j in seq(0, n):
        s = max_(x[j], 2 * s)
        y[j] = s


@proc
def pair_of_factors(n: size, f: f32[4], a: f32, b: f32, x: f32[n], y: f32[n], z: f32[n]):
    for j in seq(0, n):
        t: f32
        t = f[0] * a + f[1] * b + x[j]
        b = f[2] * a + f[3] * b
        a = t
        y[j] = a
        z[j] = b


@proc
def two_factors(n: size, f: f32[2], x: f32[n], y: f32[n + 2]):
    for j in seq(0, n):
        y[j + 2] = x[j] + f[0] * y[j + 1] + f[1] * y[j]


@proc
def two_known_factors(n: size, x: f32[n], y: f32[n + 2]):
    for j in seq(0, n):
        y[j + 2] = x[j] + 0.00000000000000000001 * y[j + 1] + 0.001 * y[j]
