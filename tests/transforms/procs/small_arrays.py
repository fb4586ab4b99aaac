"""Iterations with small arrays and scalars of their own, and some that cannot be written out."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def inverses(n: size, A: f64[3, 3, n], B: f64[3, 3, n]):
    for p in seq(0, n):
        M: f64[3, 6]
        for i in seq(0, 3):
            for j in seq(0, 3):
                M[i, j] = A[i, j, p]
                M[i, j + 3] = 0.0
            M[i, i] = M[i, i] + 8.0
            M[i, i + 3] = 1.0
        for k in seq(0, 3):
            d: f64
            d = 1.0 / M[k, k]
            for j in seq(0, 6):
                M[k, j] = M[k, j] * d
            for i in seq(0, 3):
                if i < k or i > k:
                    g: f64
                    g = M[i, k]
                    for j in seq(0, 6):
                        M[i, j] += -g * M[k, j]
        for i in seq(0, 3):
            for j in seq(0, 3):
                B[i, j, p] = M[i, j + 3]


@proc
def triangles(n: size, A: f32[4, 4, n], b: f32[4, n + 1]):
    for p in seq(0, n):
        y: f32[4]
        for i in seq(0, 4):
            y[i] = b[i, p + 1]
            for k in seq(0, i):
                y[i] += -A[i, k, p] * y[k]
            b[i, p + 1] = y[i] * 0.5


@proc
def pairs(n: size, p: f32[3, n], m: f32[n], f: f32[3, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            d: f32[3]
            r: f32
            r = 0.25
            for k in seq(0, 3):
                d[k] = p[k, j] - p[k, i]
                r += d[k] * d[k]
            r = m[j] / (r * sqrt(r))
            for k in seq(0, 3):
                f[k, i] += d[k] * r


@proc
def written_out_already(n: size, x: f32[n], y: f32[2, n]):
    for i in seq(0, n):
        t: f32[2]
        t[0] = x[i] * x[i]
        t[1] = x[i] + t[0]
        y[0, i] = t[1]
        y[1, i] = t[0]


@proc
def in_series(n: size, x: f32[n], b: f32[3, 2], z: f32[3, n], y: f32[n]):
    for c in seq(0, n):
        v: f32
        v = x[c]
        for s in seq(0, 3):
            w: f32
            w = b[s, 0] * v + z[s, c]
            z[s, c] = b[s, 1] * v - 0.5 * w
            v = w
        y[c] = v


@proc
def no_arrays(n: size, a: f32[3, n], y: f32[n]):
    for i in seq(0, n):
        for k in seq(0, 3):
            y[i] += a[k, i]


@proc
def no_rows(n: size, a: f32[n, 3, n], y: f32[n, 3, n]):
    for i in seq(0, n):
        t: f32[3]
        for k in seq(0, 3):
            t[k] = a[i, k, 0]
        for k in seq(0, 3):
            y[i, k, 0] = t[2 - k]


@proc
def no_small_array(n: size, a: f32[65, n], y: f32[65, n]):
    for i in seq(0, n):
        t: f32[65]
        for k in seq(0, 65):
            t[k] = a[k, i]
        for k in seq(0, 65):
            y[k, i] = t[64 - k]


@proc
def no_constant_length(n: size, m: size, a: f32[3, n], y: f32[3, n]):
    for i in seq(0, n):
        t: f32[3]
        for k in seq(0, 3):
            t[k] = a[k, i]
        for j in seq(0, m):
            for k in seq(0, 3):
                t[k] += 1.0
        for k in seq(0, 3):
            y[k, i] = t[k]


@proc
def no_own_place(n: size, a: f32[3, n], y: f32[3]):
    for i in seq(0, n):
        t: f32[3]
        for k in seq(0, 3):
            t[k] = a[k, i]
        for k in seq(0, 3):
            y[k] = t[k]
