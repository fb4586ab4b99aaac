"""32 independent products of 64 x 64 matrices, f32: C[b] += A[b] B[b]."""

from __future__ import annotations

from exo import proc


@proc
def batched_gemm(C: f32[32, 64, 64], A: f32[32, 64, 64], B: f32[32, 64, 64]):
    for b in seq(0, 32):
        for i in seq(0, 64):
            for j in seq(0, 64):
                for k in seq(0, 64):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]
