"""Sums of several terms, to be added one after another or not."""

from __future__ import annotations

from exo import proc


@proc
def both(n: size, A: f32[n, n], B: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + 2.0 * B[i, k] * A[j, k] + A[k, j]


@proc
def integers(n: size, A: i32[n, n], B: i32[n, n], C: i32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


@proc
def converted(n: size, A: f64[n, n], B: f64[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


@proc
def itself(n: size, A: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * A[j, k] + 0.1 * C[i, j]


@proc
def vector(n: size, A: f32[n, n], B: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += A[i, j] * x[j] + B[i, j] * x[j]


@proc
def elementwise(n: size, A: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            A[i, j] += x[i] * y[j] + y[i] * x[j]
