"""Two nests in each step of a loop."""

from __future__ import annotations

from exo import proc


@proc
def of_time(t: size, n: size, x: f32[n + 2], y: f32[n + 2]):
    for s in seq(0, t):
        for i in seq(0, n):
            y[i + 1] = x[i] + x[i + 2]
        for i in seq(0, n):
            x[i + 1] = y[i + 1]


@proc
def of_rows(t: size, n: size, x: f32[t, n + 2], y: f32[t, n + 2]):
    for s in seq(0, t):
        for i in seq(0, n):
            y[s, i + 1] = x[s, i] + x[s, i + 2]
        for i in seq(0, n):
            x[s, i + 1] = y[s, i + 1]


@proc
def of_parts(t: size, n: size, x: f32[2, n], y: f32[n], z: f32[n]):
    for s in seq(0, t):
        for i in seq(0, n):
            x[0, i] = y[i]
        for i in seq(0, n):
            x[1, i] = z[i]


@proc
def of_blocks(n: size, x: f32[8 * n], y: f32[8 * n]):
    for s in seq(0, n):
        for i in seq(8 * s, 8 * s + 8):
            y[i] = x[i]
        for i in seq(8 * s, 8 * s + 8):
            x[i] = 2.0 * y[i]


@proc
def of_sums(t: size, n: size, x: f32[n], y: f32[n], z: f32[n]):
    for s in seq(0, t):
        for i in seq(0, n):
            x[i] += y[i]
        for i in seq(0, n):
            x[i] += z[i]
