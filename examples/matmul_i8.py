"""i8 matrix product with i32 accumulation, 256 x 256 x 256: C += A B."""

from __future__ import annotations

from exo import proc


@proc
def matmul_i8(C: i32[256, 256], A: i8[256, 256], B: i8[256, 256]):
    for i in seq(0, 256):
        for j in seq(0, 256):
            for k in seq(0, 256):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b
