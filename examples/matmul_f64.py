"""f64 matrix product, 256 x 256 x 256: C += A B."""

from __future__ import annotations

from exo import proc


@proc
def matmul_f64(C: f64[256, 256], A: f64[256, 256], B: f64[256, 256]):
    for i in seq(0, 256):
        for j in seq(0, 256):
            for k in seq(0, 256):
                C[i, j] += A[i, k] * B[k, j]
