"""Sums of products, of which some factors can be summed up first."""

from __future__ import annotations

from exo import proc


@proc
def two_sided(N: size, Y: f32[N, N], C: f32[N, N], X: f32[N, N]):
    for u in seq(0, N):
        for v in seq(0, N):
            for x in seq(0, N):
                for y in seq(0, N):
                    Y[u, v] += C[u, x] * X[x, y] * C[v, y]


@proc
def quadratic(s: f64[9], X: f64[9, 10], A: f64[10, 10], mu: f64[10]):
    for n in seq(0, 9):
        s[n] = 0.0
        for i in seq(0, 10):
            for j in seq(0, 10):
                s[n] += (X[n, i] - mu[i]) * A[i, j] * (X[n, j] - mu[j])


@proc
def bilinear(n: size, s: f32, x: f32[n], A: f32[n, n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            s += x[i] * A[i, j] * y[j]


@proc
def product_of_two_with_a_vector(n: size, y: f32[n], A: f32[n, n], B: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for k in seq(0, n):
            for j in seq(0, n):
                y[i] += A[i, k] * B[k, j] * x[j]


@proc
def spectral(U: f64[7, 7, 7], A: f64[7, 7], B: f64[7, 7], C: f64[7, 7], X: f64[7, 7, 7]):
    for i in seq(0, 7):
        for j in seq(0, 7):
            for k in seq(0, 7):
                for a in seq(0, 7):
                    for b in seq(0, 7):
                        for c in seq(0, 7):
                            U[i, j, k] += A[i, a] * B[j, b] * C[k, c] * X[a, b, c]


@proc
def four_indices(R: f64[4, 4, 4, 4], C: f64[4, 4], X: f64[4, 4, 4, 4]):
    for p in seq(0, 4):
        for q in seq(0, 4):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    for i in seq(0, 4):
                        for j in seq(0, 4):
                            for k in seq(0, 4):
                                for l in seq(0, 4):
                                    R[p, q, r, s] += (
                                        C[p, i] * C[q, j] * C[r, k] * C[s, l] * X[i, j, k, l]
                                    )


@proc
def kept_in_a_scalar(Y: f32[5, 6], C: f32[5, 9], X: f32[9, 8], D: f32[6, 8]):
    for u in seq(0, 5):
        for v in seq(0, 6):
            acc: f32
            acc = 0.0
            for x in seq(0, 9):
                for y in seq(0, 8):
                    acc += C[u, x] * X[x, y] * D[v, y]
            Y[u, v] = acc


@proc
def scaled(n: size, s: f32, a: f32, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        s += a * x[i] * y[i] * 2.0


@proc
def triangular(n: size, y: f64[n], L: f64[n, n], A: f64[n, n], x: f64[n]):
    for i in seq(0, n):
        for k in seq(0, n):
            for j in seq(0, k + 1):
                y[i] += A[i, k] * L[k, j] * x[j]


@proc
def spread(y: f32[20, 30], x: f32[9]):
    for i in seq(0, 20):
        for j in seq(0, 30):
            for k in seq(0, 9):
                y[i, j] += x[k]


@proc
def scaled_by_an_expression(n: size, y: f32[n], w: f32[n], A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += A[i, j] * (w[i] + 1.0) * B[i, j]


@proc
def with_all_loops(Y: f32[5, 6], A: f32[5, 7], B: f32[7, 6], D: f32[5, 6]):
    for i in seq(0, 5):
        for j in seq(0, 6):
            for k in seq(0, 7):
                Y[i, j] += D[i, j] * A[i, k] * B[k, j]


@proc
def in_steps(y: f32[6], A: f32[6, 6], B: f32[6, 6], x: f32[6]):
    for step in seq(0, 2):
        for i in seq(0, 6):
            for k in seq(0, 6):
                for j in seq(0, 6):
                    y[i] += A[i, k] * B[k, j] * x[j]
        for i in seq(0, 6):
            x[i] = y[i]


@proc
def batches(B: size, Y: f32[B, 4, 5], C: f32[4, 6], X: f32[B, 6, 7], D: f32[5, 7]):
    for b in seq(0, B):
        for u in seq(0, 4):
            for x in seq(0, 6):
                for v in seq(0, 5):
                    for y in seq(0, 7):
                        Y[b, u, v] += D[v, y] * X[b, x, y] * C[u, x]


@proc
def rotated(n: size, Y: f64[n, 3, 3], R: f64[3, 3], T: f64[n, 3, 3]):
    for p in seq(0, n):
        for u in seq(0, 3):
            for v in seq(0, 3):
                for x in seq(0, 3):
                    for y in seq(0, 3):
                        Y[p, u, v] += R[u, x] * T[p, x, y] * R[v, y]


@proc
def matmul(n: size, C: f32[n, n], A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[k, j]


@proc
def weighted(n: size, C: f32[n, n], A: f32[n, n], w: f32[n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * w[k] * B[k, j]


@proc
def tensor(n: size, A: f32[n, n], X: f32[n, n, n], B: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for r in seq(0, n):
            for j in seq(0, n):
                for k in seq(0, n):
                    A[i, r] += X[i, j, k] * B[j, r] * C[k, r]


@proc
def convolution(n: size, y: f32[n, 8], w: f32[8, 4, 3], x: f32[n + 2, 4]):
    for i in seq(0, n):
        for o in seq(0, 8):
            for c in seq(0, 4):
                for r in seq(0, 3):
                    y[i, o] += w[o, c, r] * x[i + r, c]


@proc
def perhaps_empty(n: size, y: f32[n], w: f32[n], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += (w[i] + 1.0) * x[j] * z[j] * x[i]


@proc
def integers(n: size, y: i32[n], A: i32[n, n], B: i32[n, n], x: i32[n]):
    for i in seq(0, n):
        for k in seq(0, n):
            for j in seq(0, n):
                y[i] += A[i, k] * B[k, j] * x[j]


@proc
def of_two_types(n: size, y: f32[n], A: f64[n, n], B: f64[n, n], x: f64[n]):
    for i in seq(0, n):
        for k in seq(0, n):
            for j in seq(0, n):
                y[i] += A[i, k] * B[k, j] * x[j]
