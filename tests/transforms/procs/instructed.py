"""Nests that instructions of `portable.py` can carry out, and nests that they cannot."""

from __future__ import annotations

from exo import proc

from schedsearch.transforms.registers import VEC_F32X4
from transforms.procs.portable import SCRATCH


@proc
def dots(y: i32[3], A: i8[3, 20], x: i8[20]):
    for i in seq(0, 3):
        for ko in seq(0, 5):
            for k in seq(0, 4):
                y[i] += A[i, 4 * ko + k] * x[4 * ko + k]


@proc
def lengths(n: size, x: f32[4 * n + n % 4], y: f32[4 * n + n % 4]):
    for i in seq(0, n):
        for l in seq(0, 4):
            x[4 * i + l] = x[4 * i + l] * y[4 * i + l]
    if n % 4 > 0:
        for l in seq(0, n % 4):
            x[4 * n + l] = x[4 * n + l] * y[4 * n + l]
    for l in seq(0, 3):
        x[l] = x[l] * y[l + 1]


@proc
def divided(y: i32[2], A: i8[2, 20], x: i8[20], z: i32[2], w: i8[7]):
    for i in seq(0, 2):
        for k in seq(0, 20):
            y[i] += A[i, k] * x[k]
        for k in seq(0, 7):
            z[i] += w[k] * x[k + 13]


@proc
def blocks(out: f32[5, 4, 4], inp: f32[5, 4, 4]):
    for b in seq(0, 5):
        t: f32[4, 4] @ SCRATCH
        for i in seq(0, 4):
            for j in seq(0, 4):
                t[i, j] = inp[b, i, j]
        for i in seq(0, 4):
            for j in seq(0, 4):
                out[b, i, j] = t[i, j] + 1.0


@proc
def in_registers(x: f32[8], y: f32[8]):
    acc: f32[2, 4] @ VEC_F32X4
    for v in seq(0, 2):
        for l in seq(0, 4):
            acc[v, l] += x[v] * y[4 * v + l]


@proc
def overlapping(x: f32[9]):
    for l in seq(0, 4):
        x[l + 1] = x[l + 1] * x[l]


@proc
def squares(x: f32[4]):
    for l in seq(0, 4):
        x[l] = x[l] * x[l]


@proc
def any_length(n: size, x: f32[n], y: f32[n]):
    for l in seq(0, n):
        x[l] = x[l] * y[l]


@proc
def strided(x: f32[8], y: f32[8]):
    for l in seq(0, 4):
        x[l] = x[l] * y[2 * l]


@proc
def column(x: f32[4, 8], y: f32[4]):
    for l in seq(0, 4):
        x[l, 3] = x[l, 3] * y[l]


@proc
def windows_given(x: [f32][4], y: [f32][4]):
    for l in seq(0, 4):
        x[l] = x[l] * y[l]


@proc
def other_type(x: f64[4], y: f64[4]):
    for l in seq(0, 4):
        x[l] = x[l] * y[l]


@proc
def other_memory(x: f32[4], y: f32[4]):
    acc: f32[4]
    for l in seq(0, 4):
        acc[l] += x[0] * y[l]


@proc
def other_order(x: f32[4], y: f32[4]):
    for l in seq(0, 4):
        x[l] = y[l] * x[l]


@proc
def wide_rows(inp: f32[4, 5]):
    t: f32[4, 4] @ SCRATCH
    for i in seq(0, 4):
        for j in seq(0, 4):
            t[i, j] = inp[i, j]


@proc
def row_dots(y: i32[3], A: i8[3, 16], x: i8[16]):
    for i in seq(0, 3):
        for k in seq(0, 16):
            y[i] += A[i, k] * x[k]
