"""f32 matrix product of any size: tuned for given sizes (`--size M=512`), valid for all."""

from __future__ import annotations

from exo import proc


@proc
def gemm(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]
