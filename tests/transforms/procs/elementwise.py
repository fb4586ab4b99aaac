"""Loops that have a vector form, and some that have none (`no_...`)."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf, relu, select, sin, sqrt


@proc
def axpy(n: size, a: f32, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] += a * x[i]


@proc
def interior(n: size, y: f64[n + 1], x: f64[n + 1]):
    for i in seq(1, n):
        y[i] = 0.25 * (x[i - 1] + x[i + 1]) - x[i] / 2.0


@proc
def stencil(n: size, out: f32[4, n + 2], inp: f32[4, n + 2], c: f32[3]):
    for i in seq(1, 3):
        for j in seq(1, n + 1):
            out[i, j] = c[1] * inp[i, j]
            out[i, j] += c[0] * (inp[i - 1, j] + inp[i + 1, j])
            out[i, j] += c[2] * (inp[i, j - 1] - -inp[i, j + 1])


@proc
def temporaries(n: size, y: f32[n], z: f32[n], x: f32[n]):
    for i in seq(0, n):
        t: f32
        u: f32
        t = x[i] * x[i] + 1.0
        u = -t
        t += u * z[i]
        z[i] = u
        y[i] = t - u


@proc
def widened(n: size, C: i32[n], A: i8[3], B: i8[n], D: ui8[n]):
    for i in seq(0, n):
        a: i32
        b: i32
        a = A[2]
        b = B[i]
        C[i] += a * b
        D[i] += D[i] * D[i]


@proc
def mixed_precision(n: size, y: f64[n], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        y[i] += x[i] * x[i]
        z[i] = y[i] * 0.5


@proc
def functions(n: size, y: f32[n], z: f64[n], x: f32[n], u: f64[n]):
    for i in seq(0, n):
        y[i] = fmaxf(x[i], 1.0) + relu(x[i]) - select(x[i], 0.0, 2.0, x[i])
        z[i] = sqrt(u[i] * u[i]) + sin(2.0)


@proc
def unit_stride_window(n: size, y: [f32][n], x: f32[2, n]):
    assert stride(y, 0) == 1
    for i in seq(0, n):
        y[i] = x[0, i] + x[1, i]


@proc
def rows(y: f32[5, 13], x: f32[5, 13], scale: f32[5]):
    for i in seq(0, 5):
        for j in seq(0, 13):
            y[i, j] = scale[i] * x[i, j] + 3.0


@proc
def short(y: f32[2, 15], x: f32[2, 15]):
    for i in seq(0, 2):
        for c in seq(0, 3):
            y[i, c] = x[i, c] * x[i, c + 1] - 1.0
        for c in seq(4, 15):
            y[i, c] += x[i, c - 1]


@proc
def other_rows(n: size, y: f32[n], A: f32[4, n]):
    for i in seq(0, 4):
        for k in seq(0, n):
            y[k] += A[i, k] + A[3 - i, k] * A[i, 0]


@proc
def solve_triangle(n: size, B: f64[4, n], L: f64[4, 4]):
    for i in seq(0, 4):
        for k in seq(0, i):
            for j in seq(0, n):
                B[i, j] += -L[i, k] * B[k, j]


@proc
def sum_of_rows(n: size, A: f32[4, n]):
    for i in seq(1, 4):
        for k in seq(0, n):
            A[i, k] += A[i - 1, k]


@proc
def no_strided(n: size, y: f32[n], x: f32[2 * n], A: f32[n, 4]):
    for i in seq(0, n):
        y[i] = x[2 * i]
    for i in seq(0, n):
        A[i, 1] = 2.0
    for i in seq(0, n):
        y[i] = x[n - i]


@proc
def no_gather(n: size, y: f32[n], x: f32[n + 2]):
    for i in seq(0, n):
        y[i] = x[i / 2]
    for i in seq(0, n):
        y[i] = x[i + i % 2]


@proc
def no_carried(n: size, y: f32[n + 1], t: f32):
    for i in seq(0, n):
        y[i] = y[i + 1] * 2.0
    for i in seq(0, n):
        y[i] = y[0] + 1.0
    for i in seq(0, n):
        t = y[i]


@proc
def no_reduction(n: size, s: f32[1], x: f32[n]):
    for i in seq(0, n):
        s[0] += x[i]


@proc
def no_whole_division(n: size, y: i32[n], x: i32[n]):
    for i in seq(0, n):
        y[i] = y[i] / x[i]


@proc
def no_unknown_stride(n: size, y: [f32][n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def no_branch(n: size, y: f32[n]):
    for i in seq(0, n):
        if i < 3:
            y[i] = 1.0


@proc
def no_shared_column(n: size, A: f32[4, n]):
    for i in seq(0, 4):
        for k in seq(1, n):
            A[i, k] += A[3 - i, k - 1]
    for i in seq(0, 4):
        for k in seq(0, n):
            A[i, k] = A[i, k] * A[3 - i, 0]
