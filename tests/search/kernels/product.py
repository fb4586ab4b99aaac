# ruff: noqa: F821
"""A small kernel: C += A B."""

from __future__ import annotations

from exo import proc


@proc
def product(C: f32[16, 16], A: f32[16, 16], B: f32[16, 16]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 16):
                C[i, j] += A[i, k] * B[k, j]
