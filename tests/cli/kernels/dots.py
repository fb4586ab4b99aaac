# ruff: noqa: F821

from __future__ import annotations

from exo import proc


@proc
def dots(y: i32[32], A: i8[32, 64], x: i8[64]):
    for i in seq(0, 32):
        for k in seq(0, 64):
            y[i] += A[i, k] * x[k]
