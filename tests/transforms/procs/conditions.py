"""Loops with conditions that change inside of them, and conditions that do not."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select


@proc
def below(n: size, S: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if j <= i:
                S[i, j] = x[i] * y[j]
            else:
                S[i, j] = 0.5


@proc
def scores(S: f32[9, 9], Q: f32[9, 4], K: f32[9, 4]):
    for i in seq(0, 9):
        for j in seq(0, 9):
            if j <= i:
                S[i, j] = 0.0
                for d in seq(0, 4):
                    S[i, j] += Q[i, d] * K[j, d]
                S[i, j] = 0.5 * S[i, j]
            else:
                S[i, j] = -1000.0


@proc
def above(n: size, S: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if i < j:
                S[i, j] += x[j]


@proc
def inside(n: size, y: f32[n], A: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, 3):
                if j < i:
                    y[i] += A[i, j] * x[j]


@proc
def diagonal(n: size, A: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if i == j:
                A[i, j] = x[i]
            else:
                A[i, j] += x[j]


@proc
def falling(n: size, A: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if i + j < n:
                A[i, j] = x[i + j]
            else:
                A[i, j] = x[j]


@proc
def band(A: f32[90, 90], x: f32[90]):
    for i in seq(0, 90):
        for j in seq(0, 90):
            if i - 40 <= j and j <= i:
                A[i, j] = x[i]
            else:
                A[i, j] += x[j]


@proc
def band_of_any(n: size, w: size, A: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if i <= j + w and j <= i + w:
                A[i, j] = x[i]


@proc
def box(n: size, m: size, a: size, b: size, c: size, d: size, A: f32[n, m], x: f32[n], y: f32[m]):
    for i in seq(0, n):
        for j in seq(0, m):
            if i >= a and i < b and j >= c and j < d:
                A[i, j] += x[i] * y[j]
            else:
                A[i, j] = 0.0


@proc
def two_conditions(n: size, m: f32[n], A: f32[n, n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if j <= i:
                m[i] = select(m[i], A[i, j], A[i, j], m[i])
            if j < i:
                A[i, j] = x[j]


@proc
def causal_filter(n: size, y: f32[n], x: f32[n], h: f32[70]):
    for i in seq(0, n):
        for k in seq(0, 70):
            if k <= i:
                y[i] += h[k] * x[i - k]


@proc
def first_part(n: size, m: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        if i < m:
            y[i] = x[i]
        else:
            y[i] = 2.0 * x[i]


@proc
def of_sizes(n: size, m: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        if n < m:
            y[i] = x[i]


@proc
def of_steps(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        if 2 * i < n:
            y[i] = x[2 * i]


@proc
def borders(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for d in seq(0, 3):
            if i + d > 0 and i + d < n + 1:
                y[i] += x[i + d - 1]
