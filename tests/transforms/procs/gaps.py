"""Sums whose operands are read with gaps along the columns of the result."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def strided(
    N: size,
    C: size,
    O: size,
    H: size,
    W: size,
    x: f32[N, C, 2 * H + 1, 2 * W + 1],
    w: f32[O, C, 3, 3],
    y: f32[N, O, H, W],
):
    for n in seq(0, N):
        for o in seq(0, O):
            for i in seq(0, H):
                for j in seq(0, W):
                    y[n, o, i, j] = 0.0
                    for c in seq(0, C):
                        for p in seq(0, 3):
                            for q in seq(0, 3):
                                y[n, o, i, j] += w[o, c, p, q] * x[n, c, 2 * i + p, 2 * j + q]


@proc
def biased(x: f32[5, 41], w: f32[16, 5, 3], b: f32[16], y: f32[16, 20]):
    for o in seq(0, 16):
        for j in seq(0, 20):
            y[o, j] = b[o]
            for c in seq(0, 5):
                for r in seq(0, 3):
                    y[o, j] += x[c, 2 * j + r] * w[o, c, r]
            y[o, j] = relu(y[o, j])


@proc
def added(x: f32[5, 41], w: f32[16, 5, 3], y: f32[16, 20]):
    for c in seq(0, 5):
        for j in seq(0, 20):
            for o in seq(0, 16):
                for r in seq(0, 3):
                    y[o, j] += x[c, 2 * j + r] * w[o, c, r]


@proc
def of_one_element(x: f32[5, 14], w: f32[64, 5], y: f32[64, 7]):
    for o in seq(0, 64):
        for j in seq(0, 7):
            for c in seq(0, 5):
                y[o, j] += x[c, 2 * j] * w[o, c]


@proc
def channels_last(x: f32[15, 5], w: f32[3, 5, 16], y: f32[7, 16]):
    for j in seq(0, 7):
        for o in seq(0, 16):
            for r in seq(0, 3):
                for c in seq(0, 5):
                    y[j, o] += x[2 * j + r, c] * w[r, c, o]


@proc
def few_channels(x: f32[5, 41], w: f32[4, 5, 3], y: f32[4, 20]):
    for o in seq(0, 4):
        for j in seq(0, 20):
            for c in seq(0, 5):
                for r in seq(0, 3):
                    y[o, j] += x[c, 2 * j + r] * w[o, c, r]


@proc
def channels_apart(x: f32[5, 41], w: f32[32, 5, 3], y: f32[16, 20]):
    for o in seq(0, 16):
        for j in seq(0, 20):
            for c in seq(0, 5):
                for r in seq(0, 3):
                    y[o, j] += x[c, 2 * j + r] * w[2 * o, c, r]


@proc
def weights(w: f32[16, 6, 3, 3], x: f32[2, 6, 8, 9], y: f32[2, 16, 6, 7]):
    for n in seq(0, 2):
        for o in seq(0, 16):
            for c in seq(0, 6):
                for p in seq(0, 3):
                    for q in seq(0, 3):
                        for i in seq(0, 6):
                            for j in seq(0, 7):
                                w[o, c, p, q] += y[n, o, i, j] * x[n, c, i + p, j + q]


@proc
def strided_weights(
    N: size,
    C: size,
    O: size,
    H: size,
    W: size,
    w: f32[O, C, 3, 5],
    x: f32[N, C, 2 * H + 1, 2 * W + 3],
    y: f32[N, O, H, W],
):
    for o in seq(0, O):
        for c in seq(0, C):
            for p in seq(0, 3):
                for q in seq(0, 5):
                    w[o, c, p, q] = 0.0
                    for n in seq(0, N):
                        for i in seq(0, H):
                            for j in seq(0, W):
                                w[o, c, p, q] += x[n, c, 2 * i + p, 2 * j + q] * y[n, o, i, j]


@proc
def few_columns(C: f32[60, 3], A: f32[60, 40], B: f32[40, 3]):
    for i in seq(0, 60):
        for j in seq(0, 3):
            for k in seq(0, 40):
                C[i, j] += A[i, k] * B[k, j]


@proc
def scattered(
    N: size,
    C: size,
    H: size,
    W: size,
    x: f32[N, C, H, W],
    w: f32[C, 18, 3, 3],
    y: f32[N, 18, 2 * H + 1, 2 * W + 1],
):
    for n in seq(0, N):
        for c in seq(0, C):
            for i in seq(0, H):
                for j in seq(0, W):
                    for o in seq(0, 18):
                        for p in seq(0, 3):
                            for q in seq(0, 3):
                                y[n, o, 2 * i + p, 2 * j + q] += x[n, c, i, j] * w[c, o, p, q]


@proc
def scattered_rows(x: f32[11, 9], w: f32[11, 17, 4], y: f32[17, 40]):
    for o in seq(0, 17):
        for c in seq(0, 11):
            for j in seq(0, 9):
                for s in seq(0, 4):
                    y[o, 4 * j + s] += w[c, o, s] * x[c, j]


@proc
def scattered_by_many_taps(x: f32[11, 9], w: f32[11, 16, 12], y: f32[16, 40]):
    for o in seq(0, 16):
        for c in seq(0, 11):
            for j in seq(0, 9):
                for s in seq(0, 12):
                    y[o, 2 * j + s] += w[c, o, s] * x[c, j]


@proc
def scattered_to_few_channels(x: f32[11, 9], w: f32[11, 3, 4], y: f32[3, 40]):
    for o in seq(0, 3):
        for c in seq(0, 11):
            for j in seq(0, 9):
                for s in seq(0, 4):
                    y[o, 2 * j + s] += w[c, o, s] * x[c, j]
