"""Sums over windows that are kept in scalars."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def filtered(n: size, m: size, y: f32[n, m], w: f32[3, 3], x: f32[n + 2, m + 2]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = 0.0
            for r in seq(0, 3):
                for s in seq(0, 3):
                    t += w[r, s] * x[i + r, j + s]
            y[i, j] = relu(t) + x[i, j]


@proc
def constant(y: f64[2, 21, 19], b: f64[2], x: f64[2, 30, 19]):
    for c in seq(0, 2):
        for i in seq(0, 21):
            for j in seq(0, 19):
                t: f64
                t = b[c]
                for r in seq(0, 10):
                    t += x[c, i + r, j]
                y[c, i, j] = t


@proc
def no_depthwise_weights(n: size, y: f32[n, 16, 20], w: f32[3, 3, 20], x: f32[n + 2, 18, 20]):
    for i in seq(0, n):
        for j in seq(0, 16):
            for c in seq(0, 20):
                t: f32
                t = 0.0
                for r in seq(0, 3):
                    for s in seq(0, 3):
                        t += w[r, s, c] * x[i + r, j + s, c]
                y[i, j, c] += t


@proc
def no_instruction(y: f32[16, 12], x: f32[24, 12]):
    for i in seq(0, 16):
        for j in seq(0, 12):
            t: f32
            t = 0.0
            for r in seq(0, 9):
                t += 0.5 * x[i + r, j]
            y[i, j] = t


@proc
def no_rows_in_common(y: f32[16, 12], x: f32[128, 12]):
    for i in seq(0, 16):
        for j in seq(0, 12):
            t: f32
            t = 0.0
            for r in seq(0, 8):
                t += x[8 * i + r, j]
            y[i, j] = t


@proc
def no_long_window(y: f32[16, 12], x: f32[18, 12]):
    for i in seq(0, 16):
        for j in seq(0, 12):
            t: f32
            t = 0.0
            for r in seq(0, 3):
                t += x[i + r, j]
            y[i, j] = t


@proc
def no_columns_apart(y: f32[16, 12], x: f32[24, 24]):
    for i in seq(0, 16):
        for j in seq(0, 12):
            t: f32
            t = 0.0
            for r in seq(0, 9):
                t += x[i + r, 2 * j]
            y[i, j] = t


@proc
def no_other_temporaries(y: f32[16, 12], x: f32[24, 12]):
    for i in seq(0, 16):
        for j in seq(0, 12):
            t: f32
            u: f32
            u = x[i, j]
            t = 0.0
            for r in seq(0, 9):
                t += x[i + r, j]
            y[i, j] = t + u
