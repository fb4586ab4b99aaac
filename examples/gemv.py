"""f32 matrix-vector product, 2048 x 2048: y += A x."""

from __future__ import annotations

from exo import proc


@proc
def gemv(y: f32[2048], A: f32[2048, 2048], x: f32[2048]):
    for i in seq(0, 2048):
        for j in seq(0, 2048):
            y[i] += A[i, j] * x[j]
