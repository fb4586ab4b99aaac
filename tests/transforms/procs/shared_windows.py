"""Sums over windows, of which neighbours share parts."""

from __future__ import annotations

from exo import proc


@proc
def separable(y: f32[24, 9], g: f32[5], h: f32[3], x: f32[28, 11]):
    for i in seq(0, 24):
        for j in seq(0, 9):
            y[i, j] = 1.0
            for r in seq(0, 5):
                for s in seq(0, 3):
                    y[i, j] += g[r] * h[s] * x[i + r, j + s]


@proc
def of_any_size(n: size, m: size, y: f64[n, m], g: f64[3], x: f64[n + 2, m + 2]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 3):
                for s in seq(0, 3):
                    y[i, j] += g[r] * g[s] * x[i + r, j + s]


@proc
def mean(n: size, m: size, y: f32[n, m], x: f32[n + 4, m + 4]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] = 0.0
            for r in seq(0, 5):
                for s in seq(0, 5):
                    y[i, j] += x[i + r, j + s]
            y[i, j] = y[i, j] * 0.04


@proc
def space(y: f32[20, 20, 9], x: f32[23, 23, 12]):
    for i in seq(0, 20):
        for j in seq(0, 20):
            for k in seq(0, 9):
                for r in seq(0, 4):
                    for s in seq(0, 4):
                        for t in seq(0, 4):
                            y[i, j, k] += x[i + r, j + s, k + t]


@proc
def turned(n: size, m: size, y: f32[n, m], g: f32[4], x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += g[r] * g[s] * x[i - r + 3, j - s + 3]


@proc
def apart(n: size, m: size, y: f32[n, m], g: f32[4], x: f32[n + 6, m + 6]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += g[r] * g[s] * x[i + 2 * r, j + 2 * s]


@proc
def from_the_end(n: size, m: size, y: f32[n, m], g: f32[4], x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[n - 1 - i, j] += g[r] * g[s] * x[n - i + r - 1, j + s]


@proc
def batch(b: size, n: size, y: f32[b, n, 5, 2], g: f32[4], x: f32[b, n + 3, 8, 2]):
    for k in seq(0, b):
        for i in seq(0, n):
            for j in seq(0, 5):
                for c in seq(0, 2):
                    for r in seq(0, 4):
                        for s in seq(0, 4):
                            y[k, i, j, c] += g[r] * g[s] * x[k, i + r, j + s, c]


@proc
def weights_of_rows(n: size, m: size, y: f32[n, m], g: f32[n, 4], x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += g[i, r] * x[i + r, j + s]


@proc
def not_separable(n: size, m: size, y: f32[n, m], w: f32[4, 4], x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += w[r, s] * x[i + r, j + s]


@proc
def in_steps(n: size, m: size, y: f32[n, m], x: f32[2 * n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[2 * i + r, j + s]


@proc
def of_few_rows(y: f32[9, 9], x: f32[12, 12]):
    for i in seq(0, 9):
        for j in seq(0, 9):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[i + r, j + s]


@proc
def otherwise(n: size, m: size, y: f32[n, m], x: f32[n + 3, n + m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[i + r, i + j + s]


@proc
def integers(n: size, m: size, y: i32[n, m], x: i32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[i + r, j + s]


@proc
def in_place(n: size, m: size, x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    x[i, j] += x[i + r, j + s]


@proc
def overwritten(n: size, m: size, y: f32[n, m], x: f32[n + 3, m + 3]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[i + r, j + s]
        for k in seq(0, m + 3):
            x[i + 2, k] = 0.0


@proc
def triangle(n: size, y: f32[n, n], x: f32[n + 3, n + 3]):
    for i in seq(0, n):
        for j in seq(0, i):
            for r in seq(0, 4):
                for s in seq(0, 4):
                    y[i, j] += x[i + r, j + s]
