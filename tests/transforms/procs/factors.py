"""Products of more than two arrays: with scaling factors, weights, differences, conversions."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def blas_gemm(
    M: size, N: size, K: size, alpha: f32[1], beta: f32, A: f32[M, K], B: f32[K, N], C: f32[M, N]
):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
            for k in seq(0, K):
                C[i, j] += alpha[0] * (A[i, k] * B[k, j])


@proc
def scaled_last(M: size, N: size, K: size, by: f64, A: f64[M, K], B: f64[K, N], C: f64[M, N]):
    for i in seq(0, M):
        for k in seq(0, K):
            for j in seq(0, N):
                C[i, j] += A[i, k] * B[k, j] * by


@proc
def scaled_first(n: size, by: f64, A: f64[n, n], x: f64[n], y: f64[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += by * x[j] * A[i, j]


@proc
def covariance(D: f32[12, 20], mean: f32[20], cov: f32[20, 20]):
    for i in seq(0, 20):
        for j in seq(0, 20):
            for k in seq(0, 12):
                cov[i, j] += (D[k, i] - mean[i]) * (D[k, j] - mean[j])


@proc
def weighted(A: f32[6, 9], w: f32[9], B: f32[9, 16], D: f32[6, 9], C: f32[6, 16]):
    for i in seq(0, 6):
        for j in seq(0, 16):
            for k in seq(0, 9):
                C[i, j] += A[i, k] * (2.0 * w[k]) * (B[k, j] * D[i, k])


@proc
def activated(A: f32[6, 9], B: f32[9, 16], C: f32[6, 16]):
    for k in seq(0, 9):
        for i in seq(0, 6):
            for j in seq(0, 16):
                C[i, j] += relu(A[i, k]) * -B[k, j]


@proc
def plain(A: f32[6, 9], B: f32[9, 16], C: f32[6, 16]):
    for i in seq(0, 6):
        for j in seq(0, 16):
            for k in seq(0, 9):
                C[i, j] += A[i, k] * B[k, j]


@proc
def overwritten(x: f32[8], A: f32[8, 8], s: f32):
    for i in seq(0, 8):
        for j in seq(0, 8):
            x[i] += s * x[j] * A[i, j]


@proc
def integers(A: i32[6, 9], B: i32[9, 16], s: i32, C: i32[6, 16]):
    for i in seq(0, 6):
        for j in seq(0, 16):
            for k in seq(0, 9):
                C[i, j] += s * (A[i, k] * B[k, j])


@proc
def truncated(A: f32[6, 9], B: f32[9, 16], s: f32, C: i32[6, 16]):
    for i in seq(0, 6):
        for j in seq(0, 16):
            for k in seq(0, 9):
                C[i, j] += s * A[i, k] * B[k, j]


@proc
def perhaps_empty(n: size, A: f32[n, n], B: f32[n, n], s: f32, C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n - 1):
            for k in seq(0, n):
                C[i, j] += s * (A[i, k] * B[k, j])


@proc
def lower(n: size, alpha: f32, A: f32[n, n], B: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, i):
                C[i, j] += alpha * A[i, k] * B[k, j]


@proc
def above(n: size, alpha: f32, A: f32[n, n], B: f32[n, n], C: f32[n, n]):
    for k in seq(0, n):
        for j in seq(0, n):
            for i in seq(0, n - k):
                C[i, j] += alpha * A[i, k] * B[k, j]


@proc
def strided(x: f32[5, 12, 13], w: f32[9, 5], y: f32[9, 6, 7]):
    for o in seq(0, 9):
        for h in seq(0, 6):
            for v in seq(0, 7):
                for c in seq(0, 5):
                    y[o, h, v] += x[c, 2 * h, 2 * v] * w[o, c]


@proc
def strided_window(n: size, x: f32[2 * n + 2], w: f32[8, 3], y: f32[8, n]):
    for o in seq(0, 8):
        for v in seq(0, n):
            for r in seq(0, 3):
                y[o, v] += w[o, r] * x[2 * v + r]


@proc
def split_already(A: f32[9, 64], B: f32[16, 9], C: f32[16, 64]):
    for i in seq(0, 16):
        for jo in seq(0, 8):
            for ji in seq(0, 8):
                for k in seq(0, 9):
                    C[i, 8 * jo + ji] += A[k, 8 * jo + ji] * B[i, k]


@proc
def used_seldom(x: f32[32], w: f32[4], y: f32[4, 16]):
    for o in seq(0, 4):
        for v in seq(0, 16):
            y[o, v] += w[o] * x[2 * v]


@proc
def squares(A: f32[9, 20], C: f32[20, 20]):
    for i in seq(0, 20):
        for j in seq(0, 20):
            for k in seq(0, 9):
                C[i, j] += A[k, i] * A[k, j]


@proc
def lower_half(N: size, K: size, s: f32, A: f32[N, K], C: f32[N, N]):
    for i in seq(0, N):
        for k in seq(0, K):
            for j in seq(0, i + 1):
                C[i, j] += s * A[i, k] * A[j, k]


@proc
def upper(n: size, alpha: f32, A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(i + 1, n):
                B[i, j] += alpha * A[k, i] * B[k, j]


@proc
def converted(M: size, N: size, K: size, A: f32[M, K], B: f32[K, N], C: f64[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                a: f64
                b: f64
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def of_a_triangle(n: size, A: f32[n, n], x: f32[n, n], y: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, i + 1):
                s: f32
                s = A[i, k] + A[k, k]
                y[i, j] += s * x[k, j]


@proc
def scalars_that_stay(n: size, A: f32[n, n], x: f32[n], y: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            r: f32
            s: f32
            t: f32
            u: f32
            r = x[i]
            s = A[i, j] * 2.0
            t = y[i, i] + 1.0
            u = x[i] * 2.0
            u += x[j]
            y[i, j] += r + s + t + u


@proc
def of_three(
    I: size, J: size, K: size, R: size, X: f32[I, J, K], B: f32[J, R], C: f32[K, R], A: f32[I, R]
):
    for i in seq(0, I):
        for r in seq(0, R):
            for j in seq(0, J):
                for k in seq(0, K):
                    A[i, r] += X[i, j, k] * B[j, r] * C[k, r]


@proc
def of_three_as_two(a: f64, X: f64[9, 4, 5], B: f64[4, 18], C: f64[5, 18], A: f64[9, 18]):
    for i in seq(0, 9):
        for j in seq(0, 4):
            for k in seq(0, 5):
                for r in seq(0, 18):
                    A[i, r] += a * X[i, j, k] * (C[k, r] * B[j, r])


@proc
def of_four(X: f32[8, 3, 4, 5], B: f32[3, 7], C: f32[4, 7], D: f32[5, 7], A: f32[8, 7]):
    for i in seq(0, 8):
        for j in seq(0, 3):
            for k in seq(0, 4):
                for l in seq(0, 5):
                    for r in seq(0, 7):
                        A[i, r] += X[i, j, k, l] * B[j, r] * C[k, r] * D[l, r]


@proc
def of_three_used_seldom(X: f32[7, 4, 5], B: f32[4, 18], C: f32[5, 18], A: f32[7, 18]):
    for i in seq(0, 7):
        for j in seq(0, 4):
            for k in seq(0, 5):
                for r in seq(0, 18):
                    A[i, r] += X[i, j, k] * B[j, r] * C[k, r]


@proc
def of_three_with_all_loops(X: f32[16, 16], B: f32[16, 16], C: f32[16, 16], A: f32[16, 16]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 16):
                A[i, j] += X[i, k] * B[k, j] * C[i, j]


@proc
def across(n: size, m: size, p: size, y: f32[n, m], s: f32[m, p], t: f32[p, n, m]):
    for g in seq(0, p):
        for i in seq(0, n):
            for j in seq(0, m):
                y[i, j] += s[j, g] * t[g, i, j]


@proc
def across_a_changing_one(
    n: size, m: size, p: size, y: f64[n, m], r: f64[n, p], s: f64[m, p], t: f64[n, m]
):
    for g in seq(0, p):
        for i in seq(0, n):
            for j in seq(0, m):
                f: f64
                f = t[i, j]
                f += 1.0
                y[i, j] += r[i, g] * s[j, g] * f


@proc
def across_in_a_block(n: size, m: size, p: size, y: f32[n, m], s: f32[m, p], t: f32[n, p]):
    for i in seq(0, n):
        for k in seq(0, p):
            for j in seq(0, m):
                y[i, j] += s[j, k] * t[i, k]


@proc
def across_used_once(n: size, m: size, y: f32[n, m], s: f32[m, n], t: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] = s[j, i] * t[i, j]
