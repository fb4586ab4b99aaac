# ruff: noqa: F821
"""Its parallel loop adds to the same elements in every iteration."""

from __future__ import annotations

from exo import proc


@proc
def racy(C: f32[8, 8], A: f32[8, 8], B: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in par(0, 8):
                C[i, j] += A[i, k] * B[k, j]
