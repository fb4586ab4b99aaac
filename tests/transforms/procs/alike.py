"""Products of matrices in several forms, and something else."""

from __future__ import annotations

from exo import proc


@proc
def nn(C: f32[64, 64], A: f32[64, 64], B: f32[64, 64]):
    for i in seq(0, 64):
        for j in seq(0, 64):
            for k in seq(0, 64):
                C[i, j] += A[i, k] * B[k, j]


@proc
def nn_otherwise(y: f32[96, 48], x: f32[96, 80], w: f32[80, 48]):
    for c in seq(0, 80):
        for b in seq(0, 48):
            for a in seq(0, 96):
                y[a, b] += x[a, c] * w[c, b]


@proc
def nt(C: f64[48, 48], A: f64[48, 48], B: f64[48, 48]):
    for i in seq(0, 48):
        for j in seq(0, 48):
            for k in seq(0, 48):
                C[i, j] += A[i, k] * B[j, k]


@proc
def sizes(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def copy(y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = x[i]
