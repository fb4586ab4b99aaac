"""Kernels of different nature, small enough that thousands of candidates are soon measured.

Bound by arithmetic, with reuse in all loops (matmul, conv2d); a reduction bound by memory
(gemv); two sweeps over arrays larger than a cache, each bound by memory (jacobi_2d).
"""

from __future__ import annotations

from exo import proc


@proc
def matmul(C: f32[192, 192], A: f32[192, 192], B: f32[192, 192]):
    for i in seq(0, 192):
        for j in seq(0, 192):
            for k in seq(0, 192):
                C[i, j] += A[i, k] * B[k, j]


@proc
def conv2d(out: f32[14, 14, 32], inp: f32[16, 16, 32], w: f32[3, 3, 32, 32]):
    for y in seq(0, 14):
        for x in seq(0, 14):
            for co in seq(0, 32):
                out[y, x, co] = 0.0
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        for ci in seq(0, 32):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]


@proc
def jacobi_2d(A: f32[768, 768], B: f32[768, 768]):
    for i in seq(1, 767):
        for j in seq(1, 767):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
    for i in seq(1, 767):
        for j in seq(1, 767):
            A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


@proc
def gemv(y: f32[1024], A: f32[1024, 1024], x: f32[1024]):
    for i in seq(0, 1024):
        for j in seq(0, 1024):
            y[i] += A[i, j] * x[j]
