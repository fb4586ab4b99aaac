"""Loops in one instruction, of numbers of elements that differ in their rests."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf


@proc
def rows_of_14(n: size, A: f64[n, 14], y: f64[n], s: f64[n]):
    for i in seq(0, n):
        for j in seq(0, 14):
            y[i] += A[i, j]
            A[i, j] = A[i, j] * s[i]


@proc
def rows_of_18(n: size, A: f64[n, 18], y: f64[n], s: f64[n]):
    for i in seq(0, n):
        for j in seq(0, 18):
            y[i] += A[i, j]
            A[i, j] = A[i, j] * s[i]


@proc
def rows_of_fours(n: size, A: f64[n, 4 * n], y: f64[n], s: f64[n]):
    for i in seq(0, n):
        for j in seq(0, 4 * i + 4):
            y[i] += A[i, j]
            A[i, j] = A[i, j] * s[i]


@proc
def rows_of_any(n: size, A: f64[n, n], y: f64[n], s: f64[n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            y[i] += A[i, j]
            A[i, j] = A[i, j] * s[i]


@proc
def two_maxima(n: size, A: f32[n], B: f32[64], m: f32, k: f32):
    for i in seq(0, 64):
        k = fmaxf(k, B[i])
    for i in seq(0, n):
        m = fmaxf(m, A[i])


@proc
def one_that_is_dead(n: size, A: f32[n], B: f32[64], m: f32, k: f32):
    for i in seq(0, n):
        m = fmaxf(m, A[i])
    if n < 1:
        for i in seq(0, 64):
            k = fmaxf(k, B[i])
