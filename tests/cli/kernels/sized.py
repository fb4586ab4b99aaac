# ruff: noqa: F821
"""A kernel whose sizes are arguments, and one size restricted."""

from __future__ import annotations

from exo import proc


@proc
def scale(M: size, N: size, y: f32[M, N], x: f32[M, N]):
    assert N % 8 == 0
    for i in seq(0, M):
        for j in seq(0, N):
            y[i, j] = 2.0 * x[i, j]
