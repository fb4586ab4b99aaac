"""One procedure for each way to pass arguments."""

from __future__ import annotations

from exo import proc
from exo.libs.memories import DRAM_STATIC


@proc
def matmul(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def windows(n: size, m: size, a: f64, y: [f64][n, m], x: [f64][n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] += a * x[i, j]


@proc
def row(n: size, m: size, k: index, twice: bool, out: i32[m], x: i32[n + 1, m]):
    assert k >= 0
    assert k < n + 1
    for j in seq(0, m):
        out[j] = x[k, j]
    if twice:
        for j in seq(0, m):
            out[j] += x[k, j]


@proc
def blocks(n: size, y: [f32][n], x: f32[n], total: f32):
    assert n % 8 == 0
    assert stride(y, 0) == 1
    total = 0.0
    for i in seq(0, n):
        y[i] = x[i]
        total += x[i]


@proc
def bytes_up(n: size, by: ui8, y: ui8[n], x: ui8[n]):
    for i in seq(0, n):
        y[i] = x[i] + by


@proc
def through_static(n: size, y: f32[n, 64], x: f32[n, 64]):
    for i in seq(0, n):
        kept: f32[64] @ DRAM_STATIC
        for j in seq(0, 64):
            kept[j] = x[i, j]
        for j in seq(0, 64):
            y[i, j] = kept[63 - j]


@proc
def scaled(x: f32[4], y: f32[4]):
    for i in seq(0, 4):
        y[i] = 0.5 * x[i]


@proc
def single(n: size, a: f32, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = a * x[i]
