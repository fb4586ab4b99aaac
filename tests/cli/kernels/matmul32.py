# ruff: noqa: F821
"""A kernel that is searched in no time: C += A B."""

from __future__ import annotations

from exo import proc


@proc
def matmul32(C: f32[32, 32], A: f32[32, 32], B: f32[32, 32]):
    for i in seq(0, 32):
        for j in seq(0, 32):
            for k in seq(0, 32):
                C[i, j] += A[i, k] * B[k, j]
