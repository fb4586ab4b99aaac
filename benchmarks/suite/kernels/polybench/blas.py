"""PolyBench's BLAS routines, f64, medium sizes; triangular nests as the C reference has them."""

from __future__ import annotations

from exo import proc


@proc
def pb_gemm(alpha: f64, beta: f64, C: f64[200, 220], A: f64[200, 240], B: f64[240, 220]):
    for i in seq(0, 200):
        for j in seq(0, 220):
            C[i, j] = C[i, j] * beta
        for k in seq(0, 240):
            for j in seq(0, 220):
                C[i, j] += alpha * A[i, k] * B[k, j]


@proc
def pb_gemver(
    alpha: f64,
    beta: f64,
    A: f64[400, 400],
    u1: f64[400],
    v1: f64[400],
    u2: f64[400],
    v2: f64[400],
    w: f64[400],
    x: f64[400],
    y: f64[400],
    z: f64[400],
):
    for i in seq(0, 400):
        for j in seq(0, 400):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in seq(0, 400):
        for j in seq(0, 400):
            x[i] += beta * A[j, i] * y[j]
    for i in seq(0, 400):
        x[i] += z[i]
    for i in seq(0, 400):
        for j in seq(0, 400):
            w[i] += alpha * A[i, j] * x[j]


@proc
def pb_gesummv(
    alpha: f64,
    beta: f64,
    A: f64[250, 250],
    B: f64[250, 250],
    tmp: f64[250],
    x: f64[250],
    y: f64[250],
):
    for i in seq(0, 250):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in seq(0, 250):
            tmp[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * tmp[i] + beta * y[i]


@proc
def pb_symm(alpha: f64, beta: f64, C: f64[200, 240], A: f64[200, 200], B: f64[200, 240]):
    for i in seq(0, 200):
        for j in seq(0, 240):
            above: f64
            above = 0.0
            for k in seq(0, i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                above += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * above


@proc
def pb_syr2k(alpha: f64, beta: f64, C: f64[240, 240], A: f64[240, 200], B: f64[240, 200]):
    for i in seq(0, 240):
        for j in seq(0, i + 1):
            C[i, j] = C[i, j] * beta
        for k in seq(0, 200):
            for j in seq(0, i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


@proc
def pb_syrk(alpha: f64, beta: f64, C: f64[240, 240], A: f64[240, 200]):
    for i in seq(0, 240):
        for j in seq(0, i + 1):
            C[i, j] = C[i, j] * beta
        for k in seq(0, 200):
            for j in seq(0, i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


@proc
def pb_trmm(alpha: f64, A: f64[200, 200], B: f64[200, 240]):
    for i in seq(0, 200):
        for j in seq(0, 240):
            for k in seq(i + 1, 200):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
