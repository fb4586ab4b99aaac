"""Rows that are summed up and then added to one result, and rows that are not."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf


@proc
def normal_equations(y: f32[9], A: f32[64, 9], x: f32[9]):
    for j in seq(0, 9):
        y[j] = 0.0
    for i in seq(0, 64):
        t: f32
        t = 0.0
        for j in seq(0, 9):
            t += A[i, j] * x[j]
        for j in seq(0, 9):
            y[j] += t * A[i, j]


@proc
def gradient(n: size, m: size, g: f64[m], X: f64[n, m], y: f64[n], w: f64[m]):
    for i in seq(0, n):
        z: f64
        z = 0.0
        for j in seq(0, m):
            z += X[i, j] * w[j]
        p: f64
        p = 1.0 / (1.0 + expf(-z)) - y[i]
        for j in seq(0, m):
            g[j] += p * X[i, j]


@proc
def with_outputs(n: size, g: f32[3, 40], r: f32[n], X: f32[n, 40], y: f32[n], w: f32[40]):
    for i in seq(0, n):
        e: f32
        e = y[i]
        for j in seq(0, 40):
            e += -X[i, j] * w[j]
        r[i] = e * e
        for j in seq(0, 40):
            g[1, j] += e * X[i, j]


@proc
def own_rows(n: size, y: f32[n, 9], A: f32[n, 9], x: f32[9]):
    for i in seq(0, n):
        t: f32
        t = 0.0
        for j in seq(0, 9):
            t += A[i, j] * x[j]
        for j in seq(0, 9):
            y[i, j] += t * A[i, j]


@proc
def other_array(n: size, y: f32[9], A: f32[n, 9], B: f32[n, 9]):
    for i in seq(0, n):
        t: f32
        t = 0.0
        for j in seq(0, 9):
            t += A[i, j]
        for j in seq(0, 9):
            y[j] += t * B[i, j]


@proc
def weights_change(n: size, w: f32[9], A: f32[n, 9]):
    for i in seq(0, n):
        t: f32
        t = 0.0
        for j in seq(0, 9):
            t += A[i, j] * w[j]
        for j in seq(0, 9):
            w[j] += t * A[i, j]


@proc
def with_rows(n: size, y: f32[33], A: f32[n, 33], x: f32[33]):
    for i in seq(0, n):
        row: f32[33]
        t: f32
        t = 0.0
        for j in seq(0, 33):
            row[j] = 2.0 * A[i, j]
        for j in seq(0, 33):
            t += row[j] * A[i, j] * x[j]
        for j in seq(0, 33):
            y[j] += t * A[i, j]


@proc
def cosines(n: size, c: f32[n], A: f32[n, 20], B: f32[n, 20]):
    for i in seq(0, n):
        ab: f32
        aa: f32
        ab = 0.0
        aa = 1.0
        for j in seq(0, 20):
            ab += A[i, j] * B[i, j]
            aa += A[i, j] * A[i, j]
        c[i] = ab / aa


@proc
def thin_product(n: size, y: f64[n], A: f64[n, 8], x: f64[8]):
    for i in seq(0, n):
        y[i] = 0.0
        for j in seq(0, 8):
            y[i] += A[i, j] * x[j]


@proc
def short_product(n: size, y: f32[n, n], A: f32[n, 24], B: f32[n, 24]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i, j] = 0.0
            for k in seq(0, 24):
                y[i, j] += A[i, k] * B[j, k]
