"""f32 matrix product, 512 x 512 x 512: C += A B."""

from __future__ import annotations

from exo import proc


@proc
def matmul(C: f32[512, 512], A: f32[512, 512], B: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                C[i, j] += A[i, k] * B[k, j]
