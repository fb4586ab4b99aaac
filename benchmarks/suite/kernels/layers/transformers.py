"""f32 layers of BERT-base and of a small language model (`nn_rmsnorm`, `nn_swiglu`).

`B` sequences of `S` tokens; weights are [outputs, inputs], as networks keep them.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, select, sigmoid, sqrt


@proc
def nn_linear(
    B: size,
    S: size,
    D: size,
    E: size,
    x: f32[B, S, D],
    w: f32[E, D],
    bias: f32[E],
    out: f32[B, S, E],
):
    for b in seq(0, B):
        for i in seq(0, S):
            for j in seq(0, E):
                out[b, i, j] = bias[j]
                for k in seq(0, D):
                    out[b, i, j] += x[b, i, k] * w[j, k]


@proc
def nn_attention(
    B: size,
    H: size,
    S: size,
    Q: f32[B, H, S, 64],
    K: f32[B, H, S, 64],
    V: f32[B, H, S, 64],
    out: f32[B, H, S, 64],
):
    for b in seq(0, B):
        for h in seq(0, H):
            for i in seq(0, S):
                scores: f32[S]
                for j in seq(0, S):
                    scores[j] = 0.0
                    for k in seq(0, 64):
                        scores[j] += Q[b, h, i, k] * K[b, h, j, k]
                    scores[j] = 0.125 * scores[j]
                top: f32
                top = scores[0]
                for j in seq(0, S):
                    top = select(top, scores[j], scores[j], top)
                total: f32
                total = 0.0
                for j in seq(0, S):
                    scores[j] = expf(scores[j] - top)
                    total += scores[j]
                for d in seq(0, 64):
                    out[b, h, i, d] = 0.0
                    for j in seq(0, S):
                        out[b, h, i, d] += scores[j] * V[b, h, j, d]
                    out[b, h, i, d] = out[b, h, i, d] / total


@proc
def nn_layernorm(
    B: size,
    S: size,
    x: f32[B, S, 768],
    gamma: f32[768],
    beta: f32[768],
    out: f32[B, S, 768],
):
    for b in seq(0, B):
        for i in seq(0, S):
            mean: f32
            mean = 0.0
            for j in seq(0, 768):
                mean += x[b, i, j]
            mean = mean / 768.0
            var: f32
            var = 0.0
            for j in seq(0, 768):
                var += (x[b, i, j] - mean) * (x[b, i, j] - mean)
            inv: f32
            var = var / 768.0 + 0.00001
            inv = 1.0 / sqrt(var)
            for j in seq(0, 768):
                out[b, i, j] = (x[b, i, j] - mean) * inv * gamma[j] + beta[j]


@proc
def nn_linear_gelu(
    B: size,
    S: size,
    D: size,
    E: size,
    x: f32[B, S, D],
    w: f32[E, D],
    bias: f32[E],
    out: f32[B, S, E],
):
    # (1 + tanh(z)) / 2 is sigmoid(2 z).
    for b in seq(0, B):
        for i in seq(0, S):
            for j in seq(0, E):
                t: f32
                t = bias[j]
                for k in seq(0, D):
                    t += x[b, i, k] * w[j, k]
                z: f32
                z = 1.5957691216 * (t + 0.044715 * t * t * t)
                out[b, i, j] = t * sigmoid(z)


@proc
def nn_rmsnorm(B: size, x: f32[B, 896], gamma: f32[896], out: f32[B, 896]):
    for i in seq(0, B):
        t: f32
        t = 0.0
        for j in seq(0, 896):
            t += x[i, j] * x[i, j]
        inv: f32
        inv = 1.0 / sqrt(t / 896.0 + 0.000001)
        for j in seq(0, 896):
            out[i, j] = x[i, j] * inv * gamma[j]


@proc
def nn_swiglu(
    B: size,
    D: size,
    E: size,
    x: f32[B, D],
    gate: f32[E, D],
    up: f32[E, D],
    down: f32[D, E],
    out: f32[B, D],
):
    g: f32[B, E]
    u: f32[B, E]
    for i in seq(0, B):
        for j in seq(0, E):
            g[i, j] = 0.0
            for k in seq(0, D):
                g[i, j] += x[i, k] * gate[j, k]
    for i in seq(0, B):
        for j in seq(0, E):
            u[i, j] = 0.0
            for k in seq(0, D):
                u[i, j] += x[i, k] * up[j, k]
    for i in seq(0, B):
        for j in seq(0, E):
            g[i, j] = g[i, j] * sigmoid(g[i, j]) * u[i, j]
    for i in seq(0, B):
        for j in seq(0, D):
            out[i, j] = 0.0
            for k in seq(0, E):
                out[i, j] += g[i, k] * down[j, k]
