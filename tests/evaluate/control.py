# ruff: noqa: F821
"""Exo procedures with branches and loops that depend on indices and booleans."""

from __future__ import annotations

from exo import proc


@proc
def shifted(n: size, k: index, y: f32[n], x: f32[n]):
    assert k >= 0
    assert k < n
    for i in seq(0, n):
        if i < k:
            y[i] = x[i]
        else:
            y[i] = 2.0 * x[i]


@proc
def flagged(n: size, flag: bool, y: f32[n], x: f32[n]):
    if flag:
        for i in seq(0, n):
            y[i] = x[i]
    else:
        for i in seq(0, n):
            y[i] = 2.0 * x[i]


@proc
def both(a: bool, b: bool, y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = x[i]
        if a:
            if b:
                y[i] += x[i]
            else:
                y[i] += 2.0 * x[i]
