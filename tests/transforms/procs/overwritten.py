"""Loops that overwrite what all their iterations read, and loops that do not."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select


@proc
def shortest_paths(n: size, D: f32[n, n]):
    for k in seq(0, n):
        for i in seq(0, n):
            for j in seq(0, n):
                D[i, j] = select(D[i, k] + D[k, j], D[i, j], D[i, k] + D[k, j], D[i, j])


@proc
def next_to(n: size, A: f32[n, n + 4]):
    for i in seq(0, n):
        for j in seq(0, n):
            A[i, j + 3] += A[i, i + 3] * 0.5


@proc
def fixed(A: f32[9]):
    for j in seq(0, 9):
        A[j] += A[4]


@proc
def below_diagonal(n: size, A: f32[n, n]):
    for k in seq(0, n):
        for i in seq(k + 1, n):
            for j in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def other_rows(n: size, A: f32[n, n]):
    for i in seq(1, n):
        for j in seq(0, n):
            A[i, j] += A[i - 1, i]
