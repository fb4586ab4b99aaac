"""Loops whose lanes read what their neighbours read, too, and some whose do not (`no_...`)."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def three(n: size, y: f32[n], x: f32[n + 2]):
    for i in seq(0, n):
        y[i] = 0.25 * x[i] + 0.5 * x[i + 1] - 0.25 * x[i + 2]


@proc
def forwards(n: size, y: f64[n], x: f64[n + 1]):
    for i in seq(0, n):
        y[i] += x[i + 1] - x[i]


@proc
def with_gaps(n: size, y: f32[n], x: f32[n + 16]):
    for i in seq(0, n):
        y[i] = x[i] + 2.0 * x[i + 5] + 3.0 * x[i + 16]


@proc
def cross(x: i32[5, 131], y: i32[5, 131]):
    for i in seq(1, 4):
        for j in seq(2, 129):
            y[i, j] = x[i, j - 2] + x[i, j] + x[i, j + 2] - x[i - 1, j] - x[i + 1, j]


@proc
def gradients(x: f32[4, 300], y: f32[4, 300]):
    for i in seq(1, 3):
        for j in seq(1, 299):
            across: f32
            across = x[i - 1, j + 1] - x[i - 1, j - 1] + x[i + 1, j + 1] - x[i + 1, j - 1]
            along: f32
            along = x[i + 1, j - 1] - x[i - 1, j - 1] + x[i + 1, j + 1] - x[i - 1, j + 1]
            y[i, j] = relu(across) + along * x[i, j]


@proc
def in_time(u: f64[3, 4, 150]):
    for i in seq(1, 3):
        for j in seq(1, 149):
            u[2, i, j] = 2.0 * u[1, i, j] - u[0, i, j] + 0.5 * (u[1, i, j - 1] + u[1, i, j + 1])


@proc
def short(x: f64[3, 42], y: f64[3, 42]):
    for i in seq(0, 3):
        for j in seq(1, 41):
            y[i, j] = x[i, j - 1] + x[i, j + 1]


@proc
def no_neighbours(n: size, y: f32[n], x: f32[2, n]):
    for i in seq(0, n):
        y[i] = x[0, i] + x[1, i]


@proc
def no_register_apart(n: size, y: f32[n], x: f32[n + 17]):
    for i in seq(0, n):
        y[i] = x[i] + x[i + 17]


@proc
def no_rows_that_are_written(n: size, y: f32[2, n + 1]):
    for i in seq(0, n):
        y[0, i] = y[1, i] + y[1, i + 1]
        y[1, i] = 0.0
