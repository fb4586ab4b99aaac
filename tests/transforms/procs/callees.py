"""Procedures that call others, with windows, names and buffers alike."""

from __future__ import annotations

from exo import DRAM, instr, proc


@proc
def add_row(n: size, d: size, row: [f32][d], w: [f32][n, d], out: [f32][n]):
    for j in seq(0, n):
        for k in seq(0, d):
            out[j] += w[j, k] * row[k]


@proc
def by_rows(m: size, n: size, d: size, x: f32[m, d], w: f32[n, d], out: f32[m, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            out[i, j] = 0.5
        add_row(n, d, x[i, 0:d], w[0:n, 0:d], out[i, 0:n])


@proc
def add_products(n: size, t: [f32][1], a: [f32][n], b: [f32][n]):
    for i in seq(0, n):
        t[0] += a[i] * b[i]


@proc
def by_elements(m: size, n: size, d: size, x: f32[m, d], w: f32[n, d], out: f32[m, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            out[i, j] = 0.5
            add_products(d, out[i, j : j + 1], x[i, 0:d], w[j, 0:d])


@proc
def doubled(n: size, x: [f32][n]):
    t: f32[n]
    for i in seq(0, n):
        t[i] = x[i]
    for i in seq(0, n):
        x[i] = 2.0 * t[i]


@proc
def doubled_after_first(n: size, x: [f32][n]):
    assert n >= 1
    for i in seq(1, n):
        x[i] = 2.0 * x[i]
    doubled(n, x[0:n])


@proc
def in_turn(n: size, A: f32[n + 1, n + 3]):
    for i in seq(0, n):
        v = A[i, 1 : n + 3]
        doubled_after_first(n + 2, v)
        doubled_after_first(n + 1, A[0 : n + 1, i])


@instr("for (int i_ = 0; i_ < 8; i_++) {x_data}[i_] = 0.0f;")
def zero_8(x: [f32][8] @ DRAM):
    for i in seq(0, 8):
        x[i] = 0.0


@proc
def instructed(x: f32[4, 8]):
    for i in seq(0, 4):
        zero_8(x[i, 0:8])


@proc
def five_times(n: size, x: [f32][n]):
    doubled(n, x[0:n])
    doubled(n, x[0:n])
    doubled(n, x[0:n])
    doubled(n, x[0:n])
    doubled(n, x[0:n])


@proc
def often(n: size, x: [f32][n]):
    five_times(n, x[0:n])
    five_times(n, x[0:n])
    five_times(n, x[0:n])
    five_times(n, x[0:n])
    five_times(n, x[0:n])


@proc
def too_often(n: size, x: f32[n]):
    often(n, x[0:n])
    often(n, x[0:n])
    often(n, x[0:n])
    often(n, x[0:n])
