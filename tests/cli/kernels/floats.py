# ruff: noqa: F821
from __future__ import annotations

from exo import proc
from exo.libs.externs import expf


@proc
def dot(n: size, y: f32[1], a: f32[n], b: f32[n]):
    for i in seq(0, n):
        y[0] += a[i] * b[i]


@proc
def scale(n: size, y: f32[n], a: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] += a[i] * x[i]


@proc
def product(n: size, C: f32[n, n], A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[k, j]


@proc
def over(n: size, y: f32[n], a: f32[n]):
    for i in seq(0, n):
        y[i] = expf(a[i] * 100.0) / expf(a[i] * 100.0)
