"""Vectors, f32: y += a x, dot product, sum of absolute values, x *= a.

axpy and scal exceed the last-level cache of common machines, dot and asum the second level.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf


@proc
def axpy(y: f32[8388608], alpha: f32, x: f32[8388608]):
    for i in seq(0, 8388608):
        y[i] += alpha * x[i]


@proc
def dot(result: f32, x: f32[1048576], y: f32[1048576]):
    result = 0.0
    for i in seq(0, 1048576):
        result += x[i] * y[i]


@proc
def asum(result: f32, x: f32[2097152]):
    result = 0.0
    for i in seq(0, 2097152):
        result += fmaxf(x[i], -x[i])


@proc
def scal(x: f32[16777216], alpha: f32):
    for i in seq(0, 16777216):
        x[i] = alpha * x[i]
