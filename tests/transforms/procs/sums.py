"""Sums over an innermost loop that have a vector form, and some that have none (`no_...`)."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, fmaxf


@proc
def dot(n: size, s: f32, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        s += x[i] * y[i]


@proc
def absolute_sum(n: size, s: f64[2], x: f64[n + 1]):
    for i in seq(1, n + 1):
        s[1] += fmaxf(x[i], -x[i]) * 2.0


@proc
def matrix_vector(n: size, y: f32[11], A: f32[11, n], x: f32[n]):
    for i in seq(0, 11):
        for j in seq(0, n):
            y[i] += A[i, j] * x[j]


@proc
def deviation(n: size, out: f32[3], x: f32[3, n]):
    for i in seq(0, 3):
        mean: f32
        mean = x[i, 0]
        var: f32
        var = 1.0
        for j in seq(0, n):
            d: f32
            d = x[i, j] - mean
            var += d * d * 0.5
        out[i] = var


@proc
def bytes(n: size, m: size, C: i32[m, 2], A: i8[m, n], B: i8[n]):
    for i in seq(0, m):
        for k in seq(0, n):
            a: i32
            b: i32
            a = A[i, k]
            b = B[k]
            C[i, 1] += a * b


@proc
def constant_length(s: f32[2], x: f32[2, 53]):
    for i in seq(0, 2):
        for j in seq(0, 53):
            s[i] += x[i, j]


@proc
def rows_with_rows(n: size, C: f32[9, 9], A: f32[9, n]):
    for i in seq(0, 9):
        for j in seq(0, i + 1):
            for k in seq(0, n):
                C[i, j] += A[i, k] * A[j, k]


@proc
def short_rows(n: size, y: f32[n], A: f32[n, 20], x: f32[20]):
    for i in seq(0, n):
        for j in seq(0, 20):
            y[i] += A[i, j] * x[j]


@proc
def one_of_three_sums(n: size, s: f64[3, n], A: f64[n, 7], B: f64[n + 1, 9]):
    for i in seq(0, n):
        for j in seq(1, 7):
            a: f64
            a = A[i, j] * 0.5
            s[0, i] += a * B[i + 1, j + 2]
            s[1, i] += a * a
            s[2, i] += fmaxf(B[i, j], a)


@proc
def rows_that_overlap(n: size, y: f32[n, 2], x: f32[n + 12], w: f32[13]):
    for i in seq(0, n):
        for j in seq(0, 13):
            y[i, 1] += x[i + j] * w[j]


@proc
def long_rows(n: size, y: f32[18], A: f32[18, 2 * n], B: f32[18, 2 * n]):
    for i in seq(0, 18):
        for j in seq(0, 2 * n - 1):
            y[i] += A[i, j] * B[i, j]


@proc
def one_beside_its_terms(n: size, s: f32[3], y: f32[3, n], x: f32[3, n]):
    for i in seq(0, 3):
        for j in seq(0, n):
            y[i, j] = expf(x[i, j])
            s[i] += y[i, j]


@proc
def one_between_others(n: size, s: f64[1], y: f64[n], z: f64[n + 1], x: f64[n]):
    for j in seq(0, n):
        t: f64
        t = x[j] * 0.5
        s[0] += t * x[j]
        y[j] += t
        z[j + 1] = t - x[j]


@proc
def one_with_the_largest(n: size, top: f32, y: f32[n], x: f32[n]):
    for j in seq(0, n):
        y[j] = x[j] * 0.125
        top = fmaxf(top, y[j])


@proc
def one_of_two_sums(n: size, out: f32[3, 2], x: f32[3, n]):
    for i in seq(0, 3):
        s: f32
        s = 0.25
        q: f32
        q = 1.0
        for j in seq(0, n):
            s += x[i, j]
            q += x[i, j] * x[i, j]
        out[i, 0] = s
        out[i, 1] = q


@proc
def one_of_both_parts(n: size, s: f64[3, 4], a: f64[2, n], b: f64[2, n]):
    for i in seq(0, n):
        s[1, 0] += a[0, i] * b[0, i] - a[1, i] * b[1, i]
        s[2, 3] += a[0, i] * b[1, i] + a[1, i] * b[0, i]


@proc
def one_of_sums_and_an_extreme(n: size, m: size, C: f32[m, 4], x: f32[n + 2], y: f32[n]):
    for k in seq(0, m):
        for i in seq(0, n):
            y[i] = x[i] * 0.5
            C[k, 2] += y[i]
            C[k, 0] += y[i] * x[i + 2]
            C[k, 3] = fmaxf(C[k, 3], y[i])


@proc
def one_of_both_halves(n: size, y: f32[n + 4], A: f32[n, 20], x: f32[20]):
    for i in seq(0, n):
        for j in seq(0, 20):
            y[i + 4] += A[i, j] * x[j]
            y[i] += A[i, j]


@proc
def one_of_three_types(n: size, s: f64, t: f32, u: i32, x: f32[n], y: i32[n]):
    for i in seq(0, n):
        s += x[i]
        t += x[i] * x[i]
        u += y[i]


@proc
def no_column(n: size, s: f32[1], x: f32[n, 2]):
    for i in seq(0, n):
        s[0] += x[i, 0]


@proc
def no_running_sum(n: size, s: f32[1], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i]
        x[i] = s[0]


@proc
def no_feedback(n: size, s: f32[1], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i] * s[0]


@proc
def no_narrow_sum(n: size, s: i8[1], x: i8[n]):
    for i in seq(0, n):
        s[0] += x[i]


@proc
def no_map(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] += x[i]


@proc
def no_sum_so_far(n: size, s: f32, y: f32[n], x: f32[n]):
    for j in seq(0, n):
        s += x[j]
        y[j] = s


@proc
def no_sum_of_the_one_before(n: size, s: f32, y: f32[n + 1], x: f32[n]):
    for j in seq(0, n):
        y[j + 1] = x[j]
        s += y[j]


@proc
def no_element_twice(n: size, s: f32[1], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i]
        s[0] += x[i] * x[i]


@proc
def no_element_that_may_be_the_same(n: size, m: size, s: f32[m], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i]
        s[m - 1] += x[i] * x[i]


@proc
def no_sum_of_another(n: size, s: f32[2], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i]
        s[1] += x[i] * s[0]


@proc
def no_maximum_of_another(n: size, s: f32[2], x: f32[n]):
    for i in seq(0, n):
        s[0] = fmaxf(s[0], x[i])
        s[1] = fmaxf(s[1], x[i] - s[0])
