"""f32 transpose, 2048 x 2048: B = A^T."""

from __future__ import annotations

from exo import proc


@proc
def transpose(B: f32[2048, 2048], A: f32[2048, 2048]):
    for i in seq(0, 2048):
        for j in seq(0, 2048):
            B[i, j] = A[j, i]
