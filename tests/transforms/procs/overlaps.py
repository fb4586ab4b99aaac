"""Producers of which tiles of the consumer need rows twice, and some that stay as they are."""

from __future__ import annotations

from exo import proc


@proc
def blur(out: f32[11, 9], inp: f32[13, 11]):
    tmp: f32[13, 9]
    for y in seq(0, 13):
        for x in seq(0, 9):
            tmp[y, x] = inp[y, x] + inp[y, x + 1] + inp[y, x + 2]
    for y in seq(0, 11):
        for x in seq(0, 9):
            out[y, x] = tmp[y, x] + tmp[y + 1, x] - tmp[y + 2, x]


@proc
def multiples(n: size, out: f32[n, 5], inp: f32[n, 5]):
    assert n % 4 == 0
    t: f32[n, 5]
    for i in seq(0, n):
        for j in seq(0, 5):
            t[i, j] = inp[i, j] * 3.0
    for i in seq(0, n):
        for j in seq(0, 5):
            out[i, j] = t[i, j] - t[i, 4 - j]


@proc
def three_stages(out: f32[16, 4], inp: f32[20, 4]):
    a: f32[20, 4]
    b: f32[18, 4]
    for y in seq(0, 20):
        for x in seq(0, 4):
            a[y, x] = inp[y, x] * 2.0
    for y in seq(0, 18):
        for x in seq(0, 4):
            b[y, x] = a[y, x] + a[y + 2, x]
    for y in seq(0, 16):
        for x in seq(0, 4):
            out[y, x] = b[y + 1, x] - b[y + 2, x] + b[y, 3 - x]


@proc
def turned(out: f32[9, 6], inp: f32[12, 8]):
    t: f32[8, 12]
    n: f32
    for y in seq(1, 12):
        for x in seq(0, 8):
            t[x, y] = inp[y, x] * inp[y, x]
    n = 2.0
    for y in seq(2, 9):
        for x in seq(1, 6):
            out[y, x] = t[x - 1, y - 1] + n * t[x, y + 1] - t[x + 2, y + 2]


@proc
def pooled(out: i8[6], inp: i8[14]):
    t: i8[14]
    for i in seq(0, 14):
        t[i] = inp[i] * inp[i]
    for i in seq(0, 6):
        out[i] = t[2 * i] + t[2 * i + 2]


@proc
def read_twice(out: f32[12, 4], sums: f32[12, 4], inp: f32[15, 4]):
    a: f32[15, 4]
    b: f32[14, 4]
    for y in seq(0, 15):
        for x in seq(0, 4):
            a[y, x] = inp[y, x] * 2.0
    for y in seq(0, 14):
        for x in seq(0, 4):
            b[y, x] = a[y, x] * a[y, x]
    for y in seq(0, 12):
        for x in seq(0, 4):
            sums[y, x] = b[y, x] + b[y + 2, x]
        for x in seq(0, 4):
            out[y, x] = b[y + 1, x] - a[y + 3, x]


@proc
def input_overwritten(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1]
        inp[7 - y] = 9.0


@proc
def used_again(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1]
    out[0] = t[0]


@proc
def running_sum(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 8):
        t[y] = t[y] + inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1]


@proc
def not_all_rows(out: f32[6], inp: f32[8]):
    t: f32[8]
    for y in seq(0, 6):
        t[y] = inp[y]
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1]


@proc
def kept(out: f32[6], t: f32[8]):
    for y in seq(0, 8):
        t[y] = 1.0
    for y in seq(0, 6):
        out[y] = t[y] + t[y + 1]


@proc
def without_columns(y: f32[5], x: f32[4, 3]):
    t: f32[4, 3]
    for k in seq(0, 4):
        for j in seq(3, 3):
            t[k, j] = x[k, j]
    for i in seq(0, 5):
        for k in seq(0, 4):
            for j in seq(3, 3):
                y[i] += t[k, j]
