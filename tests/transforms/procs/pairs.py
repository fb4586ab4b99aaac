"""Loops that add to an element, and to others of the same array."""

from __future__ import annotations

from exo import proc


@proc
def forces(n: size, f: f64[2, n], x: f64[n], m: f64[n]):
    for i in seq(0, n):
        for j in seq(i + 1, n):
            d: f64
            d = x[j] - x[i]
            f[0, i] += m[j] * d
            f[0, j] += -m[i] * d
            f[1, i] += d * d
            f[1, j] += d * d


@proc
def symmetric(n: size, A: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] += A[i, i] * x[i]
        for j in seq(0, i):
            y[i] += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]


@proc
def no_other_elements(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += x[j]


@proc
def no_elements_apart(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += x[j]
            y[j] += x[i]


@proc
def no_sum_alone(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += x[j]
            y[j] += x[i] * y[i]


@proc
def no_assignment(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] = x[j]
            y[j] += x[i]


@proc
def no_rows(n: size, C: f32[n, n], A: f32[n, n], B: f32[n, n]):
    for j in seq(0, n):
        for i in seq(0, n):
            for k in seq(0, i):
                C[i, j] += A[i, k] * B[k, j]
                C[k, j] += A[i, k] * B[i, j]
