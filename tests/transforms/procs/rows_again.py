"""Rows that are read several times, and some that are not (`no_...`)."""

from __future__ import annotations

from exo import proc


@proc
def deviations(x: f32[5, 300], y: f32[5]):
    for i in seq(0, 5):
        mean: f32
        mean = 0.0
        for j in seq(0, 300):
            mean += x[i, j] / 300.0
        y[i] = 0.0
        for j in seq(0, 300):
            y[i] += (x[i, j] - mean) * (x[i, j] - mean)


@proc
def of_open_size(m: size, n: size, x: f64[m, n], y: f64[m, n], z: f64[m]):
    for i in seq(0, m):
        for j in seq(0, n):
            z[i] += x[i, j]
        for j in seq(0, n):
            y[i, j] = x[i, j] * x[i, j]
            z[i] += x[i, j] * x[i, j]


@proc
def no_first_element(x: f32[5, 300], y: f32[5]):
    for i in seq(0, 5):
        y[i] = x[i, 0]
        for j in seq(0, 300):
            y[i] += x[i, j]


@proc
def no_other_row(x: f32[6, 300], y: f32[5]):
    for i in seq(0, 5):
        y[i] = 0.0
        for j in seq(0, 300):
            y[i] += x[i, j]
        for j in seq(0, 300):
            y[i] += x[i + 1, j] * x[i + 1, j]


@proc
def no_row_of_a_loop(x: f32[300], y: f32[1]):
    for j in seq(0, 300):
        y[0] += x[j]
    for j in seq(0, 300):
        y[0] += x[j] * x[j]
