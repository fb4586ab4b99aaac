"""Minima and maxima, f32: products with `min` and `+` (lengths of shortest paths), extremes of
rows."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf, select


@proc
def min_plus(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] = select(A[i, k] + B[k, j], C[i, j], A[i, k] + B[k, j], C[i, j])


@proc
def farthest(M: size, N: size, K: size, D: f32[M, N], A: f32[M, K], B: f32[N, K]):
    for i in seq(0, M):
        for j in seq(0, N):
            D[i, j] = 0.0
            for k in seq(0, K):
                D[i, j] = fmaxf(D[i, j], fmaxf(A[i, k] - B[j, k], B[j, k] - A[i, k]))


@proc
def row_max(M: size, N: size, m: f32[M], x: f32[M, N]):
    for i in seq(0, M):
        m[i] = x[i, 0]
        for j in seq(0, N):
            m[i] = select(m[i], x[i, j], x[i, j], m[i])


@proc
def max_abs(N: size, m: f32, x: f32[N]):
    m = 0.0
    for j in seq(0, N):
        m = fmaxf(m, fmaxf(x[j], -x[j]))
