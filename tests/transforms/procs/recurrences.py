"""Loops whose iterations need the result of the one before, and some that only look so."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf


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
def no_third_order(n: size, y: f64[n + 3]):
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
def no_other_distance(n: size, y: f64[n + 2], x: f64[n]):
    for j in seq(0, n):
        y[j + 2] = y[j] + x[j]


@proc
def no_factor_of_its_own(n: size, y: f64[n + 1], w: f64[n]):
    for j in seq(0, n):
        y[j + 1] = w[j] * y[j]


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
def no_growth(n: size, y: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        y[j + 1] = 1.5 * y[j] + x[j]


@proc
def no_maximum(n: size, y: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = fmaxf(y[j], x[j])


@proc
def no_integers(n: size, y: i32[n + 1], x: i32[n]):
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
def no_two_statements(n: size, y: f64[n + 1], z: f64[n + 1]):
    for j in seq(0, n):
        y[j + 1] = y[j] + z[j]
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
def no_steady_factor(n: size, y: f64[n], x: f64[n], s: f64):
    for j in seq(0, n):
        t: f64
        t = x[j]
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
def no_three_states(n: size, x: f64[n], y: f64[n], h: f64[3]):
    for j in seq(0, n):
        y[j] = 0.5 * x[j] + 0.25 * h[0] - 0.25 * h[1] + 0.125 * h[2]
        h[2] = h[1]
        h[1] = h[0]
        h[0] = y[j]


@proc
def no_rotation(n: size, y: f64[n], c: f64, s: f64, a: f64, b: f64):
    for j in seq(0, n):
        t: f64
        t = c * a - s * b
        b = s * a + c * b
        a = t
        y[j] = a


@proc
def no_factor_of_a_state(n: size, x: f64[n], y: f64[n], s: f64, t: f64):
    for j in seq(0, n):
        s = x[j]
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
