"""Pipelines of two and three stages, and some that look like one but are none."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def blur(out: f32[7, 9], inp: f32[9, 11]):
    tmp: f32[9, 9]
    for y in seq(0, 9):
        for x in seq(0, 9):
            tmp[y, x] = inp[y, x] + inp[y, x + 1] + inp[y, x + 2]
    for y in seq(0, 7):
        for x in seq(0, 9):
            out[y, x] = tmp[y, x] + tmp[y + 1, x] - tmp[y + 2, x]


@proc
def blur_sizes(n: size, m: size, out: f32[n, m], inp: f32[n + 2, m]):
    tmp: f32[n + 2, m]
    for y in seq(0, n + 2):
        for x in seq(0, m):
            tmp[y, x] = inp[y, x] * 3.0
    for y in seq(0, n):
        for x in seq(0, m):
            out[y, x] = tmp[y, x] - tmp[y + 2, x]


@proc
def three_stages(out: f32[5, 4], inp: f32[9, 4]):
    a: f32[9, 4]
    b: f32[7, 4]
    for y in seq(0, 9):
        for x in seq(0, 4):
            a[y, x] = inp[y, x] * 2.0
    for y in seq(0, 7):
        for x in seq(0, 4):
            b[y, x] = a[y, x] + a[y + 2, x]
    for y in seq(0, 5):
        for x in seq(0, 4):
            out[y, x] = b[y + 1, x] - b[y + 2, x] + b[y, 3 - x]


@proc
def interior(out: f32[8, 6], inp: f32[8, 6]):
    t: f32[6, 8]
    for y in seq(0, 8):
        for x in seq(0, 6):
            t[x, y] = inp[y, x]
    pass
    for y in seq(1, 7):
        for x in seq(0, 6):
            out[y, x] = t[x, y - 1] + t[x, y] - t[x, y + 1]


@proc
def rows_of_products(n: size, out: f32[n, 5], A: f32[n, 6], B: f32[6, 5]):
    c: f32[n, 5]
    for i in seq(0, n):
        for j in seq(0, 5):
            c[i, j] = 0.0
            for k in seq(0, 6):
                c[i, j] += A[i, k] * B[k, j]
    for i in seq(1, n):
        for j in seq(0, 5):
            out[i, j] = c[i - 1, j] + c[i, j]


@proc
def softmax_like(out: f32[3, 7], x: f32[3, 7]):
    e: f32[3, 7]
    total: f32[3]
    for i in seq(0, 3):
        for j in seq(0, 7):
            e[i, j] = x[i, j] * x[i, j]
    for i in seq(0, 3):
        total[i] = 1.0
        for j in seq(0, 7):
            total[i] += e[i, j]
    for i in seq(0, 3):
        for j in seq(0, 7):
            out[i, j] = e[i, j] / sqrt(total[i])


@proc
def reversed_rows(out: f32[8], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = inp[y]
    for y in seq(0, 8):
        out[y] = t[7 - y]


@proc
def used_again(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 2]
    out[0] = t[0]


@proc
def input_overwritten(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1] - t[y + 2]
        inp[7] = 9.0


@proc
def scaled_twice(n: size, out: f32[n], inp: f32[n]):
    t: f32[n]
    for y in seq(0, n):
        t[y] = inp[y] * 2.0
    for y in seq(0, n):
        out[y] = t[y] * t[y]


@proc
def one_loop(n: size, out: f32[n, 5], inp: f32[n, 5]):
    t: f32[n, 5]
    u: f32[n, 5]
    for i in seq(0, n):
        for j in seq(0, 5):
            t[i, j] = inp[i, j]
            u[i, j] = 1.0
        for j in seq(0, 5):
            out[i, j] = t[i, 4 - j] + u[0, j]


@proc
def tiles_in_turn(out: f32[12, 3], A: f32[24, 4], B: f32[4, 3]):
    c: f32[24, 3]
    d: f32[24, 3]
    for io in seq(0, 3):
        for ii in seq(0, 8):
            for j in seq(0, 3):
                c[8 * io + ii, j] = 0.0
                for k in seq(0, 4):
                    c[8 * io + ii, j] += A[8 * io + ii, k] * B[k, j]
                d[8 * io + ii, j] = c[8 * io + ii, j]
        for ii in seq(0, 4):
            for j in seq(0, 3):
                out[4 * io + ii, j] = c[8 * io + 2 * ii, j] + c[8 * io + 2 * ii + 1, j]
                out[4 * io + ii, j] += d[7 * io + ii, j]


@proc
def one_block(n: size, out: f32[n, 5], inp: f32[n, 5]):
    t: f32[n]
    u: f32[n]
    for i in seq(0, n):
        s: f32
        s = inp[i, 0] * 2.0
        t[i] = s + 1.0
        u[i] = inp[i, 1]
        for j in seq(0, 5):
            out[i, j] = t[i] + u[i]
            inp[i, j] = 3.0


@proc
def bytes_wrap(out: f32[4], inp: i8[4]):
    for i in seq(0, 4):
        t: i8
        t = inp[i] * inp[i]
        out[i] = t


@proc
def two_sweeps(n: size, a: f32[n, 6], b: f32[n, 6]):
    assert n > 4
    for i in seq(1, n - 1):
        for j in seq(1, 5):
            b[i, j] = a[i - 1, j] + a[i, j - 1] - a[i + 1, j + 1]
    for i in seq(1, n - 1):
        for j in seq(1, 5):
            a[i, j] = b[i - 1, j] - b[i, j + 1] + b[i + 1, j - 1]


@proc
def sweeps_in_place(a: f32[9, 6], b: f32[8, 6]):
    for i in seq(1, 7):
        for j in seq(0, 6):
            b[i, j] = a[i, j]
    for i in seq(1, 7):
        for j in seq(0, 6):
            a[i + 2, j] = b[i - 1, j] - b[i + 1, j]


@proc
def late_rows(n: size, out: f32[n + 3], inp: f32[n + 5]):
    t: f32[n + 5]
    for y in seq(2, n + 5):
        t[y] = inp[y]
    for y in seq(1, n + 2):
        out[y] = t[y + 3] + t[y + 2]
