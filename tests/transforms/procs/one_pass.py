"""Sums over the rows and the columns of one array, and loops that only look like them."""

from __future__ import annotations

from exo import proc


@proc
def both_ways(n: size, m: size, A: f32[n, m], x: f32[n], y: f32[m], z: f32[n], w: f32[m]):
    for i in seq(0, n):
        z[i] = 0.0
        for j in seq(0, m):
            y[j] += x[i] * A[i, j]
            z[i] += A[i, j] * w[j]


@proc
def of_a_batch(
    b: size, n: size, m: size, A: f64[b, n, m], x: f64[b, n], y: f64[b, m], z: f64[b, n]
):
    for k in seq(0, b):
        for i in seq(0, n):
            for j in seq(0, m):
                y[k, j] += x[k, i] * A[k, i, j]
                z[k, i] += A[k, i, j]


@proc
def updated(n: size, A: f64[n, n], u: f64[n], v: f64[n], x: f64[n], y: f64[n], z: f64[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            A[i, j] += u[i] * v[j]
            z[i] += A[i, j] * v[j]
            y[j] += A[i, j] * x[i]


@proc
def column_used_by_the_next(n: size, m: size, A: f32[n, m], x: f32[n], y: f32[m], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[j] += x[i] * A[i, j]
            z[i] += A[i, j] * y[j]


@proc
def lower(n: size, A: f64[n, n], alpha: f64, x: f64[n], y: f64[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += alpha * A[i, j] * x[j]
            y[j] += alpha * A[i, j] * x[i]
        y[i] += alpha * A[i, i] * x[i]


@proc
def upper(n: size, A: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] += A[i, i] * x[i]
        for j in seq(i + 1, n):
            y[i] += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]


@proc
def with_diagonal(n: size, A: f32[n, n], x: f32[n], y: f32[n], z: f32[n]):
    for i in seq(0, n):
        for j in seq(i, n):
            z[i] += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]


@proc
def below_diagonal(n: size, A: f64[n, n], x: f64[n], w: f64[n], y: f64[n], z: f64[n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            z[i] += A[i, j] * w[j]
            y[j] += A[i, j] * x[i]


@proc
def constant(A: f64[37, 37], x: f64[37], y: f64[37]):
    for i in seq(0, 37):
        for j in seq(0, i):
            y[i] += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]


@proc
def next_column(n: size, m: size, A: f32[n, m + 1], x: f32[n], y: f32[m + 1], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[j + 1] += x[i] * A[i, j]
            z[i] += A[i, j] * y[j]


@proc
def row_used(n: size, m: size, A: f32[n, m], y: f32[m], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            z[i] += A[i, j]
            y[j] += A[i, j] * z[i]


@proc
def overlapping_rows(n: size, m: size, A: f32[n, m], x: f32[n + m], z: f32[n], w: f32[n + m]):
    for i in seq(0, n):
        for j in seq(0, m):
            w[i + j] += x[i] * A[i, j]
            z[i] += A[i, j]


@proc
def row_before(n: size, m: size, A: f32[n + 1, m], x: f32[n], y: f32[m], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            A[i + 1, j] = 0.5 * A[i, j]
            z[i] += A[i + 1, j]
            y[j] += A[i + 1, j] * x[i]
