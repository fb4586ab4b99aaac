"""Sums over taps that slide along an array as the rows of the result do."""

from __future__ import annotations

from exo import proc


@proc
def image(n: size, m: size, y: f32[n, m], x: f32[n + 2, m + 4], w: f32[3, 5]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] = 0.0
            for a in seq(0, 3):
                for b in seq(0, 5):
                    y[i, j] += x[i + a, j + b] * w[a, b]


@proc
def channels(y: f32[5, 13, 16], x: f32[7, 15, 16], w: f32[3, 3, 16]):
    for i in seq(0, 5):
        for j in seq(0, 13):
            for c in seq(0, 16):
                for a in seq(0, 3):
                    for b in seq(0, 3):
                        y[i, j, c] += w[a, b, c] * x[i + a, j + b, c]


@proc
def window_sum(y: f64[9, 21], x: f64[13, 21]):
    for i in seq(0, 9):
        for j in seq(0, 21):
            for k in seq(0, 5):
                y[i, j] += x[i + k, j]


@proc
def many_taps(y: f32[64, 32], x: f32[84, 32], w: f32[20]):
    for i in seq(0, 64):
        for j in seq(0, 32):
            for k in seq(0, 20):
                y[i, j] += w[k] * x[i + k, j]


@proc
def strided(y: f32[16, 32], x: f32[34, 32], w: f32[3]):
    for i in seq(0, 16):
        for j in seq(0, 32):
            for k in seq(0, 3):
                y[i, j] += w[k] * x[2 * i + k, j]


@proc
def difference(y: f32[16, 32], x: f32[18, 32], w: f32[3]):
    for i in seq(0, 16):
        for j in seq(0, 32):
            for k in seq(0, 3):
                y[i, j] += (w[k] - x[i + k, j]) * (w[k] - x[i + k, j])


@proc
def two_of_columns(n: size, m: size, y: f32[n, m], a: f32[n, 9], b: f32[9, m], c: f32[9, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, 9):
                y[i, j] += (a[i, k] - b[k, j]) * c[k, j]


@proc
def channels_inside(n: size, c: size, y: f32[8, n], x: f32[n + 7, c], w: f32[c, 7, 8]):
    for j in seq(0, n):
        for o in seq(0, 8):
            y[o, j] = 1.0
            for p in seq(0, 7):
                for k in seq(0, c):
                    y[o, j] += w[k, p, o] * x[j + p, k]
