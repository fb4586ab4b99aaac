# ruff: noqa: F821
"""Kernels with external functions, asserts and a temporary."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu, select, sin


@proc
def activate(n: size, y: f32[n], x: f32[n], w: f32[n]):
    assert n % 8 == 0
    for i in seq(0, n):
        y[i] = relu(x[i] * w[i]) + select(x[i], w[i], 1.0, x[i])


@proc
def also_activate(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = relu(x[i]) + select(x[i], 0.0, 1.0, x[i])


@proc
def strided(n: size, y: [f32][n], x: f32[n]):
    assert stride(y, 0) == 1
    for i in seq(0, n):
        y[i] = x[i]


@proc
def sines(y: f32[64], x: f32[64]):
    t: f32[64]
    for i in seq(0, 64):
        t[i] = sin(x[i])
    for i in seq(0, 64):
        y[i] = t[63 - i]
