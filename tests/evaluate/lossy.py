# ruff: noqa: F821, B007
"""Exo procedures of which an oracle may tell little: lossy conversions, long sums, small and
undefined results."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, sqrt


@proc
def requantised(n: size, y: i8[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * 0.37


@proc
def accumulated(n: size, y: i8[n], x: f32[n], s: f32[n]):
    for i in seq(0, n):
        y[i] += x[i] * s[i]


@proc
def half_products(y: f16[64], A: f16[64, 4096], x: f16[4096]):
    for i in seq(0, 64):
        y[i] = 0.0
        for k in seq(0, 4096):
            y[i] += A[i, k] * x[k]


@proc
def long_sum(y: f32[1], x: f32[2097152]):
    y[0] = 0.0
    for i in seq(0, 2097152):
        y[0] += x[i]


@proc
def long_products(y: f32[4], A: f32[4, 262144], B: f32[262144]):
    for i in seq(0, 4):
        y[i] = 0.0
        for k in seq(0, 262144):
            y[i] += (A[i, k] * 0.1) * B[k]


@proc
def units(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * 1.0e-10 * 6.0e10


@proc
def shifted_root(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = sqrt(x[i] - 10.0)


@proc
def same_exponentials(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = expf(x[i] * 100.0) / expf(x[i] * 100.0)


@proc
def reciprocal(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = 1.0 / x[i]


@proc
def repeated(n: size, x: f32[n + 3], y: f32[n + 1]):
    for i in seq(1, n):
        for j in seq(i, n):
            for k in seq(0, 3):
                x[i] += y[i] * x[k]


@proc
def wrapped(n: size, y: i8[n], x: i8[n]):
    for i in seq(0, n):
        y[i] = x[i] + x[i]
        y[i] = y[i] + y[i]
        y[i] = y[i] * y[i] + x[i]


@proc
def growing(n: size, y: f32[n], v: f32):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += v * y[i]


@proc
def exploding(n: size, x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            x[i] += x[j] * x[j]


@proc
def solved(n: size, L: f32[n, n], b: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            b[i] += -L[i, j] * b[j]
        b[i] = b[i] / L[i, i]


@proc
def multiplied(n: size, y: f32[1], x: f32[n]):
    y[0] = 1.0
    for i in seq(0, n):
        y[0] = y[0] * x[i]


@proc
def narrowed(n: size, y: i8[n], x: i32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def beside_floats(n: size, y: i8[n], x: ui8[n], z: f32[n]):
    for i in seq(0, n):
        z[i] = z[i] * 2.0
        y[i] = x[i] + x[i]


@proc
def squared(n: size, y: i32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * x[i]


@proc
def summed_squares(n: size, y: ui16[n], x: i32[n, 40]):
    for i in seq(0, n):
        t: i32
        t = 0.0
        for k in seq(0, 40):
            t += x[i, k] * x[i, k]
        y[i] = t


@proc
def half_defined(n: size, y: f32[2 * n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]
        y[n + i] = sqrt(x[i] - 1000.0)


@proc
def dequantised(n: size, y: f32[n], x: ui8[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def rescaled(n: size, y: i8[n], A: ui8[n, 64], x: i8[64], s: f32[n]):
    for i in seq(0, n):
        t: i32
        t = 0.0
        for k in seq(0, 64):
            a: i32
            b: i32
            a = A[i, k]
            b = x[k]
            t += a * b
        f: f32
        f = t
        y[i] = f * s[i] * 0.01


@proc
def below(y: f32[64], x: f32[64]):
    t: f32
    t = 4.0
    for i in seq(0, 64):
        y[i] = t - x[i]


@proc
def beside_halves(y: f32[64], h: f16[65], x: f32[64]):
    for i in seq(0, 64):
        t: f16
        t = h[i] + h[i + 1]
        s: f32
        s = t
        y[i] = s * x[i]


@proc
def one_long_sum(y: f16[61], x: f16[4096]):
    for i in seq(0, 60):
        y[i] = x[i]
    y[60] = 0.0
    for k in seq(0, 4096):
        y[60] += x[k] * x[k]


@proc
def lost(y: i8[5], x: f32[5]):
    for i in seq(0, 3):
        y[i] = x[i] * 5.0
    y[3] = 0.0
    t: i8
    t = x[4] * 0.0001
    y[4] = t * t


@proc
def powers(n: size, y: i32[n], x: i32[n]):
    for i in seq(0, n):
        t: i32
        t = x[i] * x[i]
        t = t * t
        t = t * t
        t = t * t
        y[i] = t


@proc
def halved(n: size, y: f16[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * x[i]


@proc
def of_few_sizes(n: size, y: f32[n], x: f32[n]):
    if n < 2:
        y[0] = x[0]
    else:
        for i in seq(0, n):
            y[i] = x[i] + 1.0


@proc
def sums_of_bytes(y: ui8[40, 40], x: f32[40, 3], z: f32[3]):
    for i in seq(0, 2):
        for k in seq(0, 3):
            y[i, i] += x[i, k] * z[k]
    for i in seq(2, 40):
        for j in seq(0, 40):
            y[i, j] += y[i, j]
