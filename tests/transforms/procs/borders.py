"""Windows that reach over the edges of an array, and conditions that are no borders."""

from __future__ import annotations

from exo import proc


@proc
def line(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = 0.0
        for d in seq(0, 3):
            if i + d > 0 and i + d < n + 1:
                y[i] += x[i + d - 1]


@proc
def image(o: f32[9, 7], x: f32[9, 7]):
    for i in seq(0, 9):
        for j in seq(0, 7):
            o[i, j] = 1.0
            for d in seq(0, 3):
                for e in seq(0, 5):
                    if i + d - 1 >= 0 and i + d - 1 < 9 and j + e >= 2 and j + e - 2 < 7:
                        o[i, j] += x[i + d - 1, j + e - 2]


@proc
def convolution(n: size, c: size, o: f32[n, c], x: f32[2 * n, c], w: f32[3, c, c]):
    for i in seq(0, n):
        for a in seq(0, c):
            o[i, a] = 0.0
        for d in seq(0, 3):
            if 0 <= i + d - 2:
                for b in seq(0, c):
                    for a in seq(0, c):
                        o[i, a] += x[i + d - 2, b] * w[d, b, a]


@proc
def two_windows(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        if i >= 3:
            y[i] = x[i - 3]
        if i < n - 1:
            y[i] += x[i + 1]


@proc
def diagonal(n: size, y: f32[n, n], x: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if j <= i:
                y[i, j] = x[i, j]


@proc
def short(y: f32[4], x: f32[4]):
    for i in seq(0, 4):
        for d in seq(0, 5):
            if i + d >= 2 and i + d < 6:
                y[i] += x[i + d - 2]


@proc
def far(n: size, y: f32[n + 100], x: f32[n + 100]):
    for i in seq(0, n + 100):
        if i >= 100:
            y[i] = x[i - 100]


@proc
def plane(n: size, m: size, y: f32[n, m], x: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            if i > 0 and j > 0 and j < m - 1:
                y[i, j] += x[i - 1, j - 1] * x[i, j + 1]


@proc
def batch(n: size, m: size, y: f32[n, m], x: f32[n, m]):
    for b in seq(0, n):
        for i in seq(0, m):
            for d in seq(0, 3):
                if i + d > 0 and i + d < m + 1:
                    y[b, i] += x[b, i + d - 1]
