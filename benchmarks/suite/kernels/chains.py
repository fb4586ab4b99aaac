"""Chains of products: nests that are searched alone first (`search/nests.py`)."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, relu, select


@proc
def mm3(
    A: f32[180, 200],
    B: f32[200, 190],
    C: f32[190, 220],
    D: f32[220, 210],
    E: f32[180, 190],
    F: f32[190, 210],
    G: f32[180, 210],
):
    for i in seq(0, 180):
        for j in seq(0, 190):
            E[i, j] = 0.0
            for k in seq(0, 200):
                E[i, j] += A[i, k] * B[k, j]
    for i in seq(0, 190):
        for j in seq(0, 210):
            F[i, j] = 0.0
            for k in seq(0, 220):
                F[i, j] += C[i, k] * D[k, j]
    for i in seq(0, 180):
        for j in seq(0, 210):
            G[i, j] = 0.0
            for k in seq(0, 190):
                G[i, j] += E[i, k] * F[k, j]


@proc
def mlp(
    N: size,
    D: size,
    H: size,
    x: f32[N, D],
    W: f32[H, D],
    b: f32[H],
    V: f32[D, H],
    c: f32[D],
    y: f32[N, D],
):
    h: f32[N, H]
    for i in seq(0, N):
        for j in seq(0, H):
            h[i, j] = b[j]
            for k in seq(0, D):
                h[i, j] += x[i, k] * W[j, k]
    for i in seq(0, N):
        for j in seq(0, H):
            h[i, j] = relu(h[i, j])
    for i in seq(0, N):
        for j in seq(0, D):
            y[i, j] = c[j]
            for k in seq(0, H):
                y[i, j] += h[i, k] * V[j, k]


@proc
def attention(Q: f32[256, 64], K: f32[256, 64], V: f32[256, 64], out: f32[256, 64]):
    S: f32[256, 256]
    m: f32[256]
    total: f32[256]
    for i in seq(0, 256):
        for j in seq(0, 256):
            S[i, j] = 0.0
            for k in seq(0, 64):
                S[i, j] += 0.125 * Q[i, k] * K[j, k]
    for i in seq(0, 256):
        m[i] = S[i, 0]
        for j in seq(0, 256):
            m[i] = select(m[i], S[i, j], S[i, j], m[i])
        total[i] = 0.0
        for j in seq(0, 256):
            S[i, j] = expf(S[i, j] - m[i])
            total[i] += S[i, j]
    for i in seq(0, 256):
        for d in seq(0, 64):
            out[i, d] = 0.0
            for j in seq(0, 256):
                out[i, d] += S[i, j] * V[j, d]
            out[i, d] = out[i, d] / total[i]


@proc
def mm2(
    alpha: f32[1],
    beta: f32[1],
    A: f32[180, 210],
    B: f32[210, 190],
    C: f32[190, 220],
    D: f32[180, 220],
    tmp: f32[180, 190],
):
    for i in seq(0, 180):
        for j in seq(0, 190):
            tmp[i, j] = 0.0
            for k in seq(0, 210):
                tmp[i, j] += alpha[0] * A[i, k] * B[k, j]
    for i in seq(0, 180):
        for j in seq(0, 220):
            D[i, j] = beta[0] * D[i, j]
            for k in seq(0, 190):
                D[i, j] += tmp[i, k] * C[k, j]
