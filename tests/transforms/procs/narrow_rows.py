"""Loops over rows that are narrower than a register; those of `no_` have no instruction."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select


@proc
def columns(n: size, s: f32[3], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]


@proc
def flat(n: size, s: f64[7], x: f64[7 * n + 2]):
    for i in seq(0, n):
        for j in seq(0, 7):
            s[j] += x[7 * i + j + 2] * x[7 * i + j]


@proc
def moments(n: size, s: f32[12], v: f32[2, 13], m: f32[14], A: f32[n + 1, 12]):
    for i in seq(1, n + 1):
        for j in seq(0, 12):
            d: f32
            d = A[i, j] - m[j] * m[j + 2]
            s[j] += d
            v[1, j + 1] += d * d


@proc
def weighted(n: size, y: f32[6], w: f32[n + 1], A: f32[n, 6]):
    for i in seq(0, n):
        for j in seq(0, 6):
            y[j] += A[i, j] * w[i + 1] - w[i]


@proc
def wide(n: size, y: f64[20], w: f64[n], A: f64[n, 20]):
    for i in seq(0, n):
        for j in seq(0, 20):
            y[j] += A[i, j] * w[i]


@proc
def scaled(n: size, B: f32[n, 3], s: f32[3], A: f32[n, 3], m: f32[3], w: f32[n], c: f32[1]):
    for i in seq(0, n):
        for j in seq(0, 3):
            B[i, j] += (A[i, j] - m[j]) * w[i] * c[0]
            s[j] += A[i, j]


@proc
def rows_before(n: size, B: f64[n, 5], s: f64[5], A: f64[n + 2, 5]):
    for i in seq(0, n):
        for j in seq(0, 5):
            B[i, j] = A[i + 2, j] - A[i, j]
            s[j] += A[i, j]


@proc
def no_sums(n: size, B: f64[n, 5], A: f64[n + 2, 5]):
    for i in seq(0, n):
        for j in seq(0, 5):
            B[i, j] = A[i + 2, j] - A[i, j]


@proc
def pixels(h: size, w: size, s: i32[3], A: ui8[h, w, 3]):
    for y in seq(0, h):
        for x in seq(0, w):
            for c in seq(0, 3):
                s[c] += A[y, x, c]


@proc
def largest(n: size, m: f32[5], low: f32[5], A: f32[n, 5]):
    for i in seq(0, n):
        for j in seq(0, 5):
            m[j] = select(m[j], A[i, j], A[i, j], m[j])
            low[j] = select(A[i, j], low[j], A[i, j], low[j])


@proc
def largest_of_20(n: size, m: f64[20], A: f64[n, 20]):
    for i in seq(0, n):
        for j in seq(0, 20):
            m[j] = select(m[j], A[i, j], A[i, j], m[j])


@proc
def all_of_them(n: size, s: f32[1], m: f32[2], A: f32[n, 5]):
    for i in seq(0, n):
        for j in seq(0, 5):
            s[0] += A[i, j]
            m[1] = select(m[1], A[i, j], A[i, j], m[1])


@proc
def no_gap(n: size, s: f32[3], A: f32[n, 4]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]


@proc
def no_moved_rows(n: size, s: f32[3], A: f32[n, 4]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j + 1]


@proc
def no_other_period(n: size, s: f32[3], x: f32[4 * n]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += x[4 * i + j]


@proc
def no_order(n: size, s: f32[3], B: f32[n, 3], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]
            B[i, j] = s[j]


@proc
def no_neighbours(n: size, B: f32[n + 1, 3], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            B[i + 1, j] = B[i, j] + A[i, j]


@proc
def no_overlap(n: size, s: f32[4], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]
            s[j + 1] += A[i, j]


@proc
def no_rows_of_their_own(n: size, y: f32[n], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            y[i] += A[i, j]


@proc
def no_columns(n: size, s: f32[3], A: f32[3, n]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[j, i]


@proc
def no_last_value(n: size, s: f32[3], A: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] = A[i, j]


@proc
def no_window(n: size, s: f32[3], A: [f32][n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]


@proc
def no_bytes_of_halves(n: size, s: f16[3], A: f16[n, 3]):
    for i in seq(0, n):
        for j in seq(0, 3):
            s[j] += A[i, j]
