"""Matrix and vector, f32: y += A x, y += A^T x, A += a x y^T."""

from __future__ import annotations

from exo import proc


@proc
def gemv_n(y: f32[2048], A: f32[2048, 2048], x: f32[2048]):
    for i in seq(0, 2048):
        for j in seq(0, 2048):
            y[i] += A[i, j] * x[j]


@proc
def gemv_t(y: f32[2048], A: f32[2048, 2048], x: f32[2048]):
    for j in seq(0, 2048):
        for i in seq(0, 2048):
            y[j] += A[i, j] * x[i]


@proc
def ger(A: f32[2048, 2048], alpha: f32, x: f32[2048], y: f32[2048]):
    for i in seq(0, 2048):
        for j in seq(0, 2048):
            A[i, j] += alpha * x[i] * y[j]
