"""Sums over windows that reach over the edges, and sums with other conditions."""

from __future__ import annotations

from exo import proc


@proc
def places(Y: f32[2, 3, 5, 6], X: f32[2, 2, 5, 6], W: f32[3, 2, 3, 3]):
    for b in seq(0, 2):
        for o in seq(0, 3):
            for y in seq(0, 5):
                for x in seq(0, 6):
                    Y[b, o, y, x] = 0.0
                    for c in seq(0, 2):
                        for u in seq(0, 3):
                            for v in seq(0, 3):
                                if y + u > 0 and y + u <= 5 and x + v >= 1 and x + v < 7:
                                    Y[b, o, y, x] += X[b, c, y + u - 1, x + v - 1] * W[o, c, u, v]


@proc
def channels(n: size, m: size, c: size, Y: f32[n, m, c], X: f32[n, m, c], W: f32[3, 3, c, c]):
    for y in seq(0, n):
        for x in seq(0, m):
            for o in seq(0, c):
                for u in seq(0, 3):
                    for v in seq(0, 3):
                        for i in seq(0, c):
                            if y + u > 0 and y + u < n + 1 and x + v > 0 and x + v < m + 1:
                                Y[y, x, o] += X[y + u - 1, x + v - 1, i] * W[u, v, i, o]


@proc
def dilated(n: size, c: size, y: f32[n + 4, c], x: f32[n + 4, c], w: f32[3, c, c]):
    for o in seq(0, c):
        for i in seq(0, n + 4):
            for d in seq(0, 3):
                for k in seq(0, c):
                    if i + 2 * d >= 2 and i + 2 * d < n + 6:
                        y[i, o] += x[i + 2 * d - 2, k] * w[d, k, o]


@proc
def strided(n: size, y: f32[n, 8], x: f32[2 * n, 8], w: f32[5, 8, 8]):
    for i in seq(0, n):
        for o in seq(0, 8):
            for d in seq(0, 5):
                for k in seq(0, 8):
                    if 2 * i + d > 1 and 2 * i + d < 2 * n + 2:
                        y[i, o] += x[2 * i + d - 2, k] * w[d, k, o]


@proc
def by_thirds(n: size, y: f32[n, 8], x: f32[n, 8], w: f32[3, 8, 8]):
    for i in seq(0, n):
        for o in seq(0, 8):
            for d in seq(0, 3):
                for k in seq(0, 8):
                    if 3 * i + d > 0 and 3 * i + d < n + 1:
                        y[i, o] += x[3 * i + d - 1, k] * w[d, k, o]


@proc
def of_five(n: size, c: size, y: f32[n, c], x: f32[n, c], w: f32[5, c, c]):
    for i in seq(0, n):
        for o in seq(0, c):
            for d in seq(0, 5):
                for k in seq(0, c):
                    if i + d > 1 and i + d < n + 2:
                        y[i, o] += x[i + d - 2, k] * w[d, k, o]


@proc
def triangle(C: f32[8, 8], A: f32[8, 8], B: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 8):
                if k <= i:
                    C[i, j] += A[i, k] * B[k, j]


@proc
def in_a_scalar(Y: f32[5, 6, 9], X: f32[5, 6, 2], W: f32[3, 3, 2, 9]):
    for y in seq(0, 5):
        for x in seq(0, 6):
            for o in seq(0, 9):
                s: f32
                s = 0.5
                for u in seq(0, 3):
                    for v in seq(0, 3):
                        for c in seq(0, 2):
                            if y + u > 0 and y + u < 6 and x + v > 0 and x + v < 7:
                                s += X[y + u - 1, x + v - 1, c] * W[u, v, c, o]
                Y[y, x, o] = s * s


@proc
def step_by_step(t: size, u: f32[t + 1, 8, 8], w: f32[8, 8]):
    for s in seq(0, t):
        for i in seq(0, 8):
            for j in seq(0, 8):
                z: f32
                z = 1.0
                for k in seq(0, 8):
                    if k <= s:
                        z += u[s, i, k] * w[k, j]
                u[s + 1, i, j] = 0.5 * z


@proc
def of_one(y: f32[9], x: f32[9]):
    for i in seq(0, 9):
        for d in seq(0, 3):
            if i + d > 0 and i + d < 10:
                y[i] += x[i + d - 1]


@proc
def one_by_one(n: size, m: size, c: size, Y: f32[n, m, c], X: f32[n, m, c], W: f32[3, 3, c, c]):
    for y in seq(0, n):
        for x in seq(0, m):
            for o in seq(0, c):
                Y[y, x, o] = 1.0
                for u in seq(0, 3):
                    if y + u - 1 >= 0:  # noqa: SIM102
                        if y + u - 1 < n:
                            for v in seq(0, 3):
                                if x + v - 1 >= 0 and x + v - 1 < m:
                                    for i in seq(0, c):
                                        Y[y, x, o] += X[y + u - 1, x + v - 1, i] * W[u, v, i, o]


@proc
def inner_first(n: size, c: size, y: f32[n, c], x: f32[n, c], w: f32[3, c, c]):
    for i in seq(0, n):
        for o in seq(0, c):
            for d in seq(0, 3):
                if i + d >= 1:
                    for k in seq(0, c):
                        if i + d < n + 1:
                            y[i, o] += x[i + d - 1, k] * w[d, k, o]


@proc
def with_others(n: size, c: size, y: f32[n, c], x: f32[n, c], w: f32[3, c, c], z: f32[n]):
    for i in seq(0, n):
        for o in seq(0, c):
            for d in seq(0, 3):
                if i + d >= 1:
                    z[i] += 1.0
                    for k in seq(0, c):
                        if i + d < n + 1:
                            y[i, o] += x[i + d - 1, k] * w[d, k, o]


@proc
def of_any_size(
    b: size, n: size, m: size, y: f32[b, 8, n, m], x: f32[b, 3, n, m], w: f32[8, 3, 3, 3]
):
    for k in seq(0, b):
        for o in seq(0, 8):
            for i in seq(0, n):
                for j in seq(0, m):
                    for c in seq(0, 3):
                        for r in seq(0, 3):
                            for s in seq(0, 3):
                                if i + r > 0 and i + r < n + 1 and j + s > 0 and j + s < m + 1:
                                    y[k, o, i, j] += w[o, c, r, s] * x[k, c, i + r - 1, j + s - 1]


@proc
def causal(b: size, c: size, t: size, y: f32[b, 9, t], x: f32[b, c, t], w: f32[9, 3 * c]):
    for i in seq(0, b):
        for o in seq(0, 9):
            for s in seq(0, t):
                y[i, o, s] = 0.5
                for k in seq(0, c):
                    for d in seq(0, 3):
                        if s >= 4 * d:
                            y[i, o, s] += x[i, k, s - 4 * d] * w[o, 3 * k + d]


@proc
def of_two_axes(n: size, m: size, y: f32[n, m], x: f32[n, m, 8], w: f32[3, 3, 8]):
    for i in seq(0, n):
        for j in seq(0, m):
            for r in seq(0, 3):
                for s in seq(0, 3):
                    for c in seq(0, 8):
                        if i >= 2 * r and j + s < m:
                            y[i, j] += x[i - 2 * r, j + s, c] * w[r, s, c]
