"""Elements of a row that need those before them: factorisations, and solves from the right."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def lu(n: size, A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in seq(i, n):
            for k in seq(0, i):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def cholesky(n: size, A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k in seq(0, i):
            A[i, i] += -A[i, k] * A[i, k]
        A[i, i] = sqrt(A[i, i])


@proc
def right(m: size, n: size, B: f32[m, n], U: f32[n, n]):
    for i in seq(0, m):
        for j in seq(0, n):
            for k in seq(0, j):
                B[i, j] += -B[i, k] * U[k, j]
            B[i, j] = B[i, j] / U[j, j]


@proc
def right_of_transpose(m: size, n: size, B: f32[m, n], L: f32[n, n], alpha: f32):
    for i in seq(0, m):
        for j in seq(0, n):
            B[i, j] = alpha * B[i, j]
        for j in seq(0, n):
            for k in seq(0, j):
                B[i, j] += -B[i, k] * L[j, k]


@proc
def of_rows_below(n: size, A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[n - 1 - k, j]
            A[i, j] = A[i, j] / A[j, j]


@proc
def of_the_row_before(n: size, A: f32[n + 1, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[i + 1, k]


@proc
def lu_off_the_diagonal(n: size, A: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in seq(i + 1, n):
            for k in seq(0, i):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def eliminated(n: size, A: f32[n, n]):
    for k in seq(0, n):
        for i in seq(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def eliminated_apart(n: size, A: f32[n, n]):
    for k in seq(0, n):
        for i in seq(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
        for i in seq(k + 1, n):
            for j in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def eliminated_by_columns(n: size, A: f32[n, n]):
    for k in seq(0, n):
        inverse: f32
        inverse = 1.0 / A[k, k]
        for i in seq(k + 1, n):
            A[i, k] = A[i, k] * inverse
        for j in seq(k + 1, n):
            for i in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def eliminated_by_the_last(n: size, A: f32[n, n]):
    for k in seq(0, n):
        for i in seq(k + 1, n):
            A[i, k] = A[i, k] / A[k, n - 1]
            for j in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]
