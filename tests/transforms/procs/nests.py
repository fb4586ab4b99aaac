"""Nests to tile, jam, interleave, hoist from, prefetch for and specialise."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def transpose(n: size, m: size, b: f32[m, n], a: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            b[j, i] = a[i, j]


@proc
def product(C: f32[9, 13], A: f32[9, 20], B: f32[20, 13]):
    for i in seq(0, 9):
        for j in seq(0, 13):
            for k in seq(0, 20):
                C[i, j] += A[i, k] * B[k, j]


@proc
def jacobi(b: f32[21, 70], a: f32[21, 70]):
    for i in seq(0, 19):
        for j in seq(0, 68):
            b[i + 1, j + 1] = a[i, j + 1] + a[i + 1, j] - a[i + 1, j + 2] + a[i + 2, j + 1]


@proc
def rows(n: size, m: size, y: f32[n], A: f32[n, m], x: f32[m], z: f32[n]):
    for i in seq(0, n):
        total: f32
        total = 0.0
        for k in seq(0, m):
            square: f32
            square = x[k] * x[k]
            total += A[i, k] * square
        z[i] = total
        for k in seq(0, m):
            y[i] += A[i, k] * x[k]


@proc
def onto_one_row(n: size, m: size, y: f32[m], A: f32[n, m], x: f32[n]):
    for k in seq(0, n):
        for j in seq(0, m):
            y[j] += A[k, j] * x[k]


@proc
def chain(n: size, y: f32[n], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        t: f32[2]
        t[0] = x[i] * x[i]
        t[1] = t[0] + x[i]
        y[i] = t[1] * z[i]


@proc
def triangle(y: f32[11], A: f32[11, 11]):
    for i in seq(0, 11):
        for k in seq(0, i):
            y[i] += A[i, k]


@proc
def recurrence(x: f32[12], y: f32[12]):
    for i in seq(0, 11):
        y[i] = x[i] + 1.0
        x[i + 1] = y[i] * 0.5


@proc
def normalise(n: size, y: f32[n, 7], x: f32[n, 7], v: f32[n], by: f32):
    for i in seq(0, n):
        for j in seq(0, 7):
            y[i, j] = x[i, j] / sqrt(v[i] + 9.0) + v[i] * by


@proc
def outer_product(C: f32[5, 6], A: f32[5, 3], B: f32[3, 6]):
    for i in seq(0, 5):
        for k in seq(0, 3):
            for j in seq(0, 6):
                C[i, j] += A[i, k] * B[k, j] + A[i, k]


@proc
def later_in_body(n: size, y: f32[n, 4], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        for j in seq(0, 4):
            z[i] = z[i] + 1.0
            y[i, j] = x[i] * x[i]


@proc
def changing(y: f32[6], x: f32[6]):
    for i in seq(0, 6):
        y[i] = x[0] + 1.0
        x[0] = y[i]
    for i in seq(0, 6):
        for j in seq(0, i):
            y[i] += x[i] * 2.0


@proc
def sums(n: size, m: size, y: f32[n + 1, m], x: f32[m, n + 1], by: f32[5]):
    assert m % 4 == 0
    for i in seq(0, n + 1):
        for j in seq(0, m):
            for k in seq(0, 5):
                y[i, j] += x[j, i] * by[k]


@proc
def columns(n: size, y: f32[1, 37], A: f32[21, 37], B: f64[n, 21, 3], z: f64[n]):
    for k in seq(0, 21):
        for j in seq(0, 37):
            y[0, j] += A[k, j]
    for i in seq(0, n):
        for k in seq(1, 20):
            z[i] += B[i, k, 0] * B[i, k + 1, 2]


@proc
def heat(n: size, b: f32[9, n + 2, 40], a: f32[9, n + 2, 40]):
    for i in seq(1, 8):
        for j in seq(1, n + 1):
            for k in seq(2, 39):
                b[i, j, k] = a[i - 1, j, k] + a[i + 1, j, k] - a[i, j - 1, k] + a[i, j + 1, k - 2]


@proc
def running(n: size, y: f32[5, n], x: f32[5, n]):
    for i in seq(0, 5):
        total: f32
        total = 0.0
        for j in seq(0, n):
            total += x[i, j]
            y[i, j] = total


@proc
def prefixes(n: size, y: f32[5, n], x: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(1, n):
            y[i, j] = y[i, j - 1] * 0.5 + x[i, j]


@proc
def late(n: size, y: f32[5, n + 8], x: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[i, j + 8] = y[i, j] + x[i, j]


@proc
def independent(n: size, y: f32[5, n], x: f32[5, n], z: f32[5]):
    for i in seq(0, 5):
        for j in seq(0, n):
            square: f32
            square = x[i, j] * x[i, j]
            y[i, j] = square * square
            z[i] += square


@proc
def solved(n: size, x: f32[n], L: f32[n, n], A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            x[i] += -L[i, j] * x[j]
    for j in seq(0, n):
        for i in seq(j + 1, n):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[j, k]
    for i in seq(0, n):
        for j in seq(0, i + 1):
            x[i] += L[i, j] * x[j]
