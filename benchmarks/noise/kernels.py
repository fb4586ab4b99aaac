"""Kernels of known speed relative to each other: the same rows, and some of them again.

Rows are computed from inputs alone, so that computing some twice changes no result. They are
of the middle, which no cache holds that does not hold everything.
Bound by arithmetic (`polynomial`), by a cache (`combine`, 600 KB), by memory (`row_sums`,
105 MB).
"""

from __future__ import annotations

from exo import proc

ROWS = 200


@proc
def polynomial(y: f32[200, 512], x: f32[200, 512]):
    for i in seq(0, 200):
        for j in seq(0, 512):
            y[i, j] = (
                (
                    ((((x[i, j] + 0.1) * x[i, j] + 0.2) * x[i, j] + 0.3) * x[i, j] + 0.4) * x[i, j]
                    + 0.5
                )
                * x[i, j]
                + 0.6
            ) * x[i, j] + 0.7


@proc
def polynomial_more(y: f32[200, 512], x: f32[200, 512], again: size):
    assert again < 100
    for i in seq(0, 200):
        for j in seq(0, 512):
            y[i, j] = (
                (
                    ((((x[i, j] + 0.1) * x[i, j] + 0.2) * x[i, j] + 0.3) * x[i, j] + 0.4) * x[i, j]
                    + 0.5
                )
                * x[i, j]
                + 0.6
            ) * x[i, j] + 0.7
    for i in seq(100, 100 + again):
        for j in seq(0, 512):
            y[i, j] = (
                (
                    ((((x[i, j] + 0.1) * x[i, j] + 0.2) * x[i, j] + 0.3) * x[i, j] + 0.4) * x[i, j]
                    + 0.5
                )
                * x[i, j]
                + 0.6
            ) * x[i, j] + 0.7


@proc
def combine(y: f32[200, 256], x: f32[200, 256], z: f32[200, 256]):
    for i in seq(0, 200):
        for j in seq(0, 256):
            y[i, j] = 0.5 * x[i, j] + z[i, j]


@proc
def combine_more(y: f32[200, 256], x: f32[200, 256], z: f32[200, 256], again: size):
    assert again < 100
    for i in seq(0, 200):
        for j in seq(0, 256):
            y[i, j] = 0.5 * x[i, j] + z[i, j]
    for i in seq(100, 100 + again):
        for j in seq(0, 256):
            y[i, j] = 0.5 * x[i, j] + z[i, j]


@proc
def row_sums(s: f32[200], x: f32[200, 131072]):
    for i in seq(0, 200):
        s[i] = 0.0
        for j in seq(0, 131072):
            s[i] += x[i, j]


@proc
def row_sums_more(s: f32[200], x: f32[200, 131072], again: size):
    assert again < 100
    for i in seq(0, 200):
        s[i] = 0.0
        for j in seq(0, 131072):
            s[i] += x[i, j]
    for i in seq(100, 100 + again):
        s[i] = 0.0
        for j in seq(0, 131072):
            s[i] += x[i, j]
