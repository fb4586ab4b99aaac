"""Procedures of several nests, for taking them apart."""

from __future__ import annotations

from exo import DRAM, Memory, proc


class Elsewhere(Memory):
    pass


@proc
def chain(
    A: f32[32, 24] @ DRAM,
    B: f32[24, 40] @ DRAM,
    C: f32[40, 16] @ DRAM,
    D: f32[32, 16] @ DRAM,
):
    AB: f32[32, 40] @ DRAM
    for i in seq(0, 32):
        for j in seq(0, 40):
            AB[i, j] = 0.0
    for i in seq(0, 32):
        for j in seq(0, 40):
            for k in seq(0, 24):
                AB[i, j] += A[i, k] * B[k, j]
    for i in seq(0, 32):
        for j in seq(0, 16):
            for k in seq(0, 40):
                D[i, j] += AB[i, k] * C[k, j]


@proc
def sized(n: size, m: size, x: f32[n, m] @ DRAM):
    assert n % 8 == 0
    assert m >= 3
    for i in seq(0, n):
        for j in seq(0, m):
            x[i, j] = 0.0


@proc
def windowed(x: f32[8, 8] @ DRAM):
    y = x[0, :]
    for i in seq(0, 8):
        y[i] = 0.0


@proc
def placed(x: f32[8] @ DRAM):
    y: f32[8] @ Elsewhere
    for i in seq(0, 8):
        y[i] = 0.0
    for i in seq(0, 8):
        x[i] = y[i]


@proc
def branching(n: size, x: f32[n, 8] @ DRAM, y: f32[n] @ DRAM):
    y[0] = 0.0
    for i in seq(0, n):
        if i < 4:
            x[i, 0] = 1.0
            y[i] = 2.0
            x[i, 1] = y[i] + 1.0
        else:
            y[i] += x[i, 2]
        for j in seq(0, 8):
            x[i, j] += y[i] * 3.0
            y[i] = x[i, j]
    y[0] = 1.0


@proc
def conditional(n: size, x: f32[n] @ DRAM):
    if n > 1000:
        x[0] = 0.0
    for i in seq(0, n):
        x[i] = 1.0
