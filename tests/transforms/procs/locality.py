"""Nests whose cache behaviour is known."""

from __future__ import annotations

from exo import proc


@proc
def copy_columns(N: size, y: f32[N, N], x: f32[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            y[j, i] = x[j, i]


@proc
def product(N: size, C: f32[N, N], A: f32[N, N], B: f32[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            for k in seq(0, N):
                C[i, j] += A[i, k] * B[k, j]


@proc
def rows_of_a_temporary(x: f32[8, 8], y: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32[16]
            for k in seq(0, 8):
                t[k + i] = x[j, k]
            for k in seq(0, 8):
                x[j, k] += t[k + i] * 0.5
        for j in seq(0, 2):
            y[j] = 1.0
