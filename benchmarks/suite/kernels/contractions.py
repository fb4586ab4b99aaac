"""Contractions of the suite with their sizes as parameters."""

from __future__ import annotations

from exo import proc


@proc
def gemm_i8(M: size, N: size, K: size, C: i32[M, N], A: i8[M, K], B: i8[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def batched_gemm(
    B: size, M: size, N: size, K: size, C: f32[B, M, N], A: f32[B, M, K], V: f32[B, K, N]
):
    for b in seq(0, B):
        for i in seq(0, M):
            for j in seq(0, N):
                for k in seq(0, K):
                    C[b, i, j] += A[b, i, k] * V[b, k, j]


@proc
def conv2d(
    H: size,
    W: size,
    CI: size,
    CO: size,
    out: f32[H, W, CO],
    inp: f32[H + 2, W + 2, CI],
    w: f32[3, 3, CI, CO],
):
    for y in seq(0, H):
        for x in seq(0, W):
            for co in seq(0, CO):
                out[y, x, co] = 0.0
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        for ci in seq(0, CI):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]
