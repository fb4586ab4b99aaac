"""Loops that add to what all iterations share, and loops (`no_`) that do more than that."""

from __future__ import annotations

from exo import proc


@proc
def dot(n: size, r: f32[1], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        r[0] += x[i] * y[i]


@proc
def columns(n: size, m: size, y: [f32][m], A: f32[n, m], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[j] += A[i, j] * x[i]


@proc
def gram(n: size, m: size, C: f64[m, m], A: f64[n, m]):
    for k in seq(0, n):
        for i in seq(0, m):
            for j in seq(0, i + 1):
                C[i, j] += A[k, i] * A[k, j]


@proc
def moments(n: size, m: size, r: f64[2], x: f64[n]):
    for step in seq(0, m):
        total: f64
        total = 0.0
        for i in seq(0, n):
            total += x[i]
            r[1] += x[i] * x[i]
        r[0] = total


@proc
def one_row(n: size, r: f32[1], A: f32[1, n]):
    for b in seq(0, 1):
        for i in seq(0, n):
            r[b] += A[b, i]


@proc
def counted(n: size, r: i32[3], x: i32[n + 1]):
    for i in seq(1, n + 1):
        r[1] += x[i]


@proc
def no_prefix(n: size, r: f32[n], x: f32[n]):
    s: f32
    s = 0.0
    for i in seq(0, n):
        s += x[i]
        r[i] = s


@proc
def no_restart(n: size, r: f32[1], x: f32[n]):
    for i in seq(0, n):
        r[0] += x[i]
        r[0] = 2.0 * r[0]


@proc
def no_neighbours(n: size, r: f32[n + 1], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, 2):
            r[i + j] += x[i]


@proc
def no_second_name(n: size, r: f32[4], x: f32[n]):
    w = r[1:3]
    for i in seq(0, n):
        w[0] += x[i]


@proc
def no_other_of_its_name(n: size, r: f32[1], x: f32[n]):
    s: f32
    s = 0.0
    for i in seq(0, n):
        s += x[i]
    r[0] = s
    s: f32
    s = 1.0
    r[0] += s


@proc
def no_sums_so_far(n: size, r: f32[1], t: f32[1], x: f32[n]):
    for i in seq(0, n):
        r[0] += x[i]
        t[0] += r[0]


@proc
def no_sums_of_another_shape(n: size, r: f32[1, 1], t: f32[1], x: f32[n]):
    for i in seq(0, n):
        r[0, 0] += x[i]
        t[0] += r[0, 0]


@proc
def no_rows(n: size, r: f32[n], x: f32[n]):
    for i in seq(0, n):
        r[i] += x[i]
