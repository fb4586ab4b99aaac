"""Triangular nests: bounds that depend on another loop."""

from __future__ import annotations

from exo import proc


@proc
def product_below(C: f32[37, 37], A: f32[37, 3], B: f32[3, 37]):
    for i in seq(0, 37):
        for j in seq(0, i + 1):
            for k in seq(0, 3):
                C[i, j] += A[i, k] * B[k, j]


@proc
def product_above(n: size, C: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(i, n):
            C[i, j] += x[i] * x[j]


@proc
def strictly_above(n: size, C: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(i + 1, n):
            C[i, j] += x[j]


@proc
def reduced(n: size, C: f32[n, 8], L: f32[n, n], B: f32[n, 8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            for k in seq(0, i + 1):
                C[i, j] += L[i, k] * B[k, j]


@proc
def solved(n: size, B: f32[n, 8], L: f32[n, n]):
    for i in seq(0, n):
        for k in seq(0, i):
            for j in seq(0, 8):
                B[i, j] += -L[i, k] * B[k, j]


@proc
def solved_of_any_type(n: size, B: R[n, 8], L: R[n, n]):
    for i in seq(0, n):
        for k in seq(0, i):
            for j in seq(0, 8):
                B[i, j] += -L[i, k] * B[k, j]


@proc
def summed_rows(n: size, C: f32[n, n], A: f32[n, 4], s: f32[n]):
    for i in seq(0, n):
        s[i] = 0.0
        for j in seq(0, i + 1):
            C[i, j] = 0.0
            for k in seq(0, 4):
                C[i, j] += A[i, k] * A[j, k]
        s[i] += 1.0


@proc
def rank_update(C: f32[35, 35], A: f32[35, 3]):
    for i in seq(0, 35):
        for j in seq(0, i + 1):
            for k in seq(0, 3):
                C[i, j] += A[i, k] * A[j, k]


@proc
def chained(n: size, C: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            x[0] = x[0] * 0.5 + C[i, j]


@proc
def rectangle(C: f32[37, 37]):
    for i in seq(0, 37):
        for j in seq(0, 37):
            C[i, j] = 0.0


@proc
def steep(C: f32[37, 80]):
    for i in seq(0, 37):
        for j in seq(0, 2 * i + 1):
            C[i, j] = 0.0


@proc
def updated(C: f32[35, 35], A: f32[35, 5], alpha: f32, beta: f32):
    for i in seq(0, 35):
        for j in seq(0, i + 1):
            C[i, j] = beta * C[i, j]
        for k in seq(0, 5):
            for j in seq(0, i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


@proc
def updated_twice(n: size, C: f32[n, n], A: f32[n, 5], B: f32[n, 5], s: f32):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            for k in seq(0, 5):
                C[i, j] += s * A[i, k] * B[j, k]
                C[i, j] += s * B[i, k] * A[j, k]


@proc
def squared(C: f32[35, 35], A: f32[5, 35]):
    for i in seq(0, 35):
        for j in seq(0, 35):
            C[i, j] = 0.0
            for k in seq(0, 5):
                C[i, j] += A[k, i] * A[k, j]


@proc
def below_diagonal(C: f32[35, 35], A: f32[35, 5], B: f32[35, 5]):
    for i in seq(0, 35):
        for j in seq(0, i):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[j, k]


@proc
def covariance_above(C: f32[35, 35], A: f32[5, 35]):
    for i in seq(0, 35):
        for j in seq(i, 35):
            C[i, j] = 0.0
            for k in seq(0, 5):
                C[i, j] += A[k, i] * A[k, j]
            C[i, j] = C[i, j] / (6.0 - 1.0)
            C[j, i] = C[i, j]


@proc
def below_f64(C: f64[43, 43], A: f64[43, 5], B: f64[5, 43]):
    for i in seq(0, 43):
        for j in seq(0, i):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]


@proc
def below_and_above(n: size, C: f32[n, n], D: f32[n, n], A: f32[n, 5], B: f32[5, n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]
    for i in seq(0, n):
        for j in seq(i, n):
            for k in seq(0, 5):
                D[i, j] += A[i, k] * B[k, j]


@proc
def solved_scaled(L: f32[35, 35], B: f32[35, 40], alpha: f32):
    for i in seq(0, 35):
        for j in seq(0, 40):
            B[i, j] = alpha * B[i, j]
        for k in seq(0, i):
            for j in seq(0, 40):
                B[i, j] += -L[i, k] * B[k, j]


@proc
def symmetric(A: f32[35, 35], B: f32[35, 40], C: f32[35, 40], alpha: f32):
    for i in seq(0, 35):
        for j in seq(0, 40):
            for k in seq(0, i):
                C[i, j] += alpha * A[i, k] * B[k, j]
                C[k, j] += alpha * A[i, k] * B[i, j]
            C[i, j] += alpha * A[i, i] * B[i, j]


@proc
def in_place(A: f32[35, 35], B: f32[35, 40], alpha: f32):
    for i in seq(0, 35):
        for j in seq(0, 40):
            B[i, j] = alpha * A[i, i] * B[i, j]
            for k in seq(i + 1, 35):
                B[i, j] += alpha * A[k, i] * B[k, j]


@proc
def falling(n: size, r: f32[n], x: f32[2 * n]):
    for lag in seq(0, n):
        for t in seq(0, n - lag):
            r[lag] += x[t] * x[t + lag]


@proc
def falling_in_place(n: size, A: f32[n, n], B: f32[n, 8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            B[n - 1 - i, j] = A[n - 1 - i, n - 1 - i] * B[n - 1 - i, j]
            for k in seq(0, n - 1 - i):
                B[n - 1 - i, j] += A[n - 1 - i, k] * B[k, j]


@proc
def from_the_last(A: f32[35, 35], B: f32[35, 40]):
    for i in seq(0, 35):
        for j in seq(0, 40):
            B[34 - i, j] = A[34 - i, 34 - i] * B[34 - i, j]
            for k in seq(0, 34 - i):
                B[34 - i, j] += A[34 - i, k] * B[k, j]


@proc
def rows_above(n: size, m: size, C: f32[n, m], A: f32[n, n], B: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            C[i, j] = 2.0 * C[i, j]
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, i):
                C[i, j] += A[i, k] * B[k, j]
                C[k, j] += A[i, k] * B[i, j]


@proc
def rows_up_to(C: f32[13, 5], A: f32[13, 13], B: f32[13, 5]):
    for i in seq(0, 13):
        for k in seq(0, i + 1):
            for j in seq(0, 5):
                C[k, j] += A[i, k] * B[i, j]


@proc
def columns_before(n: size, C: f32[n, n], A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, j):
                C[i, k] += A[j, k] * B[i, j]


@proc
def rows_in_place(n: size, C: f32[n, 4], A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, 4):
            for k in seq(0, i):
                C[k, j] += A[i, k] * C[i, j]


@proc
def rows_of_the_first(n: size, C: f32[n, 4], A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, 4):
            for k in seq(0, i):
                C[k, j] += A[i, k] * C[0, j]


@proc
def rows_below(n: size, m: size, C: f32[n, m], A: f32[n, n], B: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(i + 1, n):
                C[i, j] += A[i, k] * B[k, j]
                C[k, j] += A[i, k] * B[i, j]


@proc
def rows_from(C: f32[13, 5], A: f32[13, 13], B: f32[13, 5]):
    for i in seq(0, 13):
        for k in seq(i, 13):
            for j in seq(0, 5):
                C[k, j] += A[i, k] * B[i, j]


@proc
def rows_beyond(n: size, C: f32[n + 1, 5], A: f32[n, n + 1], B: f32[n, 5]):
    for i in seq(0, n):
        for k in seq(i, n + 1):
            for j in seq(0, 5):
                C[k, j] += A[i, k] * B[i, j]


@proc
def columns_first(n: size, C: f32[n, n], A: f32[n, 5]):
    for j in seq(0, n):
        for k in seq(0, 5):
            for i in seq(j, n):
                C[i, j] += A[j, k] * A[i, k]


@proc
def right_in_place(m: size, n: size, A: f32[n, n], B: f32[m, n], alpha: f32):
    for i in seq(0, m):
        for j in seq(0, n):
            B[i, j] = alpha * A[j, j] * B[i, j]
            for k in seq(j + 1, n):
                B[i, j] += alpha * B[i, k] * A[k, j]


@proc
def right_by_columns(m: size, n: size, A: f32[n, n], B: f32[m, n]):
    for j in seq(0, n):
        for i in seq(0, m):
            B[i, n - 1 - j] = A[n - 1 - j, n - 1 - j] * B[i, n - 1 - j]
        for k in seq(0, n - 1 - j):
            for i in seq(0, m):
                B[i, n - 1 - j] += A[n - 1 - j, k] * B[i, k]


@proc
def right_steps_first(m: size, n: size, C: f32[m, n], A: f32[n, n], B: f32[m, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            C[i, j] = 0.0
        for k in seq(0, n):
            for j in seq(k, n):
                C[i, j] += B[i, k] * A[k, j]


@proc
def right_symmetric(m: size, n: size, A: f32[n, n], B: f32[m, n], C: f32[m, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            for k in seq(j + 1, n):
                C[i, j] += B[i, k] * A[j, k]
                C[i, k] += B[i, j] * A[j, k]
            C[i, j] += B[i, j] * A[j, j]


@proc
def right_of_each(m: size, n: size, A: f32[n, n], B: f32[3, m, n], C: f32[3, m, n]):
    for b in seq(0, 3):
        for i in seq(0, m):
            for j in seq(0, n):
                for k in seq(0, j + 1):
                    C[b, i, j] += B[b, i, k] * A[k, j]


@proc
def right_of_the_next(m: size, n: size, A: f32[n, n], C: f32[3, m, n]):
    for b in seq(0, 2):
        for i in seq(0, m):
            for j in seq(0, n):
                for k in seq(0, j + 1):
                    C[b, i, j] += C[b + 1, i, k] * A[k, j]


@proc
def right_of_a_window(m: size, n: size, A: f32[n, n], B: f32[m, n], C: [f32][m, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            for k in seq(0, j + 1):
                C[i, j] += B[i, k] * A[k, j]


@proc
def above_diagonal(n: size, C: f32[n, n], A: f32[n, 5], B: f32[n, 5], alpha: f32):
    for i in seq(0, n):
        for j in seq(i, n):
            for k in seq(0, 5):
                C[i, j] += alpha * A[i, k] * B[j, k]
                C[i, j] += alpha * B[i, k] * A[j, k]


@proc
def toeplitz_of_rows(n: size, m: size, y: f32[m, n], r: f32[n], x: f32[m, n]):
    for k in seq(0, m):
        for i in seq(0, n):
            for j in seq(0, i):
                y[k, i] += r[i - j] * x[k, j]


@proc
def toeplitz(n: size, y: f32[n], r: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += r[i - j] * x[j]
