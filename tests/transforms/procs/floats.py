"""Kernels in which a floating-point contract shows: sums, comparisons, functions, conversions."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, fmaxf, relu, select, sigmoid, sin, sqrt

from schedsearch.transforms.registers import VEC_F32X8


@proc
def dot(n: size, y: f32[1], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[0] += a[i] * b[i]


@proc
def gemv(m: size, n: size, y: f32[m], a: f32[m, n], x: f32[n]):
    for i in seq(0, m):
        for j in seq(0, n):
            y[i] += a[i, j] * x[j]


@proc
def matmul(c: f32[13, 37], a: f32[13, 11], b: f32[11, 37]):
    for i in seq(0, 13):
        for j in seq(0, 37):
            for k in seq(0, 11):
                c[i, j] += a[i, k] * b[k, j]


@proc
def products(c: f32[8] @ VEC_F32X8, a: f32[8] @ VEC_F32X8, b: f32[8] @ VEC_F32X8):
    for i in seq(0, 8):
        c[i] += a[i] * b[i]


@proc
def planes(n: size, y: f64[n], a: f64[n, 5, 7]):
    for i in seq(0, n):
        for j in seq(0, 5):
            for k in seq(0, 7):
                y[i] += a[i, j, k]


@proc
def twice(n: size, y: f32[n], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[i] += a[i]
    for i in seq(0, n):
        y[i] += b[i]


@proc
def smooth(n: size, y: f32[n + 1], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[i] += a[i]
        y[i + 1] += b[i]


@proc
def axpy(n: size, y: f32[n], a: f32[1], x: f32[n]):
    for i in seq(0, n):
        y[i] = a[0] * x[i] + y[i]


@proc
def choose(n: size, y: f32[n], z: f32[n], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[i] = relu(a[i] * b[i])
        z[i] = select(a[i], b[i], b[i], a[i])


@proc
def larger(n: size, y: f32[n], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[i] = fmaxf(a[i], b[i])


@proc
def largest(n: size, y: f32[1], a: f32[n]):
    for i in seq(0, n):
        y[0] = fmaxf(y[0], a[i])


@proc
def shortest(c: f32[13, 37], a: f32[13, 11], b: f32[11, 37]):
    for i in seq(0, 13):
        for j in seq(0, 37):
            for k in seq(0, 11):
                c[i, j] = select(a[i, k] + b[k, j], c[i, j], a[i, k] + b[k, j], c[i, j])


@proc
def longest(c: f64[7, 37], a: f64[7, 11], b: f64[11, 37]):
    for i in seq(0, 7):
        for j in seq(0, 37):
            for k in seq(0, 11):
                c[i, j] = select(c[i, j], a[i, k] + b[k, j], a[i, k] + b[k, j], c[i, j])


@proc
def numbers(c: f32[13, 37], a: f32[13, 11], b: f32[11, 37]):
    for i in seq(0, 13):
        for j in seq(0, 37):
            for k in seq(0, 11):
                c[i, j] = fmaxf(c[i, j], a[i, k] + b[k, j])


@proc
def tops(n: size, y: f32[5], a: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[i] = select(y[i], a[i, j], a[i, j], y[i])


@proc
def zeros(n: size, y: f32[5], a: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[i] = select(y[i], a[i, j] * 0.0, a[i, j] * 0.0, y[i])


@proc
def forgetful(n: size, y: f32[5], a: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[i] = select(a[i, j], y[i], y[i], a[i, j])


@proc
def curves(n: size, y: f32[n], z: f32[n], w: f32[n], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[i] = expf(a[i]) * b[i]
        z[i] = sigmoid(a[i])
        w[i] = sin(b[i])


@proc
def scaled(m: size, n: size, y: f32[m, n], a: f32[m, n], v: f32[m]):
    for i in seq(0, m):
        for j in seq(0, n):
            y[i, j] = a[i, j] / sqrt(v[i])


@proc
def roots(n: size, y: f64[n], z: f32[n], a: f64[n], b: f32[n]):
    for i in seq(0, n):
        y[i] = sqrt(a[i]) + a[i]
    for i in seq(0, n):
        z[i] = sqrt(b[i])


@proc
def constants(n: size, y: f32[n], a: f32[n]):
    for i in seq(0, n):
        y[i] = a[i] + 0.0
    for i in seq(0, n):
        y[i] += 0.0 * a[i]


@proc
def half(n: size, y: f16[n], a: f16[n], b: f16[n]):
    for i in seq(0, n):
        t: f16
        t = a[i] * b[i]
        y[i] += t + a[i]
