"""Loops whose indices repeat, and indices that no period makes simple."""

from __future__ import annotations

from exo import proc


@proc
def fold(profile: f32[12], x: f32[100]):
    for i in seq(0, 100):
        profile[i % 12] += x[i]


@proc
def any_length(n: size, profile: f32[12], x: f32[n]):
    for i in seq(0, n):
        profile[i % 12] += x[i]


@proc
def later(n: size, profile: f32[12], x: f32[n + 3]):
    for i in seq(0, n):
        profile[(i + 5) % 12] += x[i + 3]


@proc
def from_five(profile: f32[24], x: f32[100]):
    for i in seq(5, 97):
        profile[(2 * i + 4) % 24] += x[i]


@proc
def means(n: size, y: f32[n / 12 + 2], x: f32[n]):
    for i in seq(0, n):
        y[(i + 5) / 12] += x[i]


@proc
def pairs(n: size, w: f32[24], y: f32[2 * n], x: f32[n]):
    for i in seq(0, n):
        y[2 * i] = w[2 * i % 24] * x[i]
        y[2 * i + 1] = w[(2 * i + 1) % 24] * x[i]


@proc
def image(n: size, y: f32[n, 5, 10], x: f32[50 * n]):
    for i in seq(0, 50 * n):
        y[i / 50, i / 10 % 5, i % 10] = x[i]


@proc
def rows_of_eight(n: size, y: f32[24], x: f32[8 * n]):
    for i in seq(0, n):
        for j in seq(0, 8):
            y[(8 * i + j) % 24] += x[8 * i + j]


@proc
def enlarged(n: size, m: size, y: f32[2 * n, 3 * m], x: f32[n, m]):
    for i in seq(0, 2 * n):
        for j in seq(0, 3 * m):
            y[i, j] = x[i / 2, j / 3]


@proc
def between(n: size, y: f32[n], x: f32[n / 2 + 2]):
    for i in seq(0, n):
        if i % 2 == 0:
            y[i] = x[i / 2]
        else:
            y[i] = 0.5 * x[i / 2] + 0.5 * x[(i + 1) / 2]


@proc
def in_turns(t: size, n: size, u: f32[2, n]):
    for i in seq(0, t):
        for j in seq(0, n):
            u[(i + 1) % 2, j] = 0.5 * u[i % 2, j]


@proc
def no_whole_period(x: f32[12], y: f32[12]):
    for i in seq(0, 12):
        y[i % 12] = x[i]


@proc
def no_start(x: f32[12], y: f32[12], h: f32[40]):
    for i in seq(0, 12):
        for k in seq(0, 40):
            y[i] += h[k] * x[(i + k) % 12]


@proc
def no_even(x: f32[24], y: f32[40]):
    for i in seq(0, 40):
        y[i] = x[(2 * i + 3) % 24]


@proc
def no_divisor(x: f32[12], y: f32[40]):
    for i in seq(0, 40):
        y[i] = x[5 * i % 12]


@proc
def no_forward(x: f32[6], y: f32[12]):
    for i in seq(0, 12):
        y[i] = x[(11 - i) / 2]
