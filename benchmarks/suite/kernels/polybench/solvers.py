"""PolyBench's factorisations and solvers, f64, medium sizes.

Exo has no descending loops: the backward substitution of `ludcmp` counts up and indexes from
the end. `gramschmidt` is 240 x 200, where PolyBench has 200 x 240: of more columns than rows
the last are but rounding errors, which no two orders of summation agree on.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def pb_cholesky(A: f64[400, 400]):
    for i in seq(0, 400):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k in seq(0, i):
            A[i, i] += -A[i, k] * A[i, k]
        A[i, i] = sqrt(A[i, i])


@proc
def pb_durbin(r: f64[400], y: f64[400]):
    z: f64[400]
    alpha: f64
    beta: f64
    total: f64
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in seq(1, 400):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in seq(0, k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in seq(0, k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in seq(0, k):
            y[i] = z[i]
        y[k] = alpha


@proc
def pb_gramschmidt(A: f64[240, 200], R: f64[200, 200], Q: f64[240, 200]):
    for k in seq(0, 200):
        norm: f64
        norm = 0.0
        for i in seq(0, 240):
            norm += A[i, k] * A[i, k]
        R[k, k] = sqrt(norm)
        for i in seq(0, 240):
            Q[i, k] = A[i, k] / R[k, k]
        for j in seq(k + 1, 200):
            R[k, j] = 0.0
            for i in seq(0, 240):
                R[k, j] += Q[i, k] * A[i, j]
            for i in seq(0, 240):
                A[i, j] += -Q[i, k] * R[k, j]


@proc
def pb_lu(A: f64[400, 400]):
    for i in seq(0, 400):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in seq(i, 400):
            for k in seq(0, i):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def pb_ludcmp(A: f64[400, 400], b: f64[400], x: f64[400], y: f64[400]):
    w: f64
    for i in seq(0, 400):
        for j in seq(0, i):
            w = A[i, j]
            for k in seq(0, j):
                w += -A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in seq(i, 400):
            w = A[i, j]
            for k in seq(0, i):
                w += -A[i, k] * A[k, j]
            A[i, j] = w
    for i in seq(0, 400):
        w = b[i]
        for j in seq(0, i):
            w += -A[i, j] * y[j]
        y[i] = w
    for i in seq(0, 400):
        w = y[399 - i]
        for j in seq(400 - i, 400):
            w += -A[399 - i, j] * x[j]
        x[399 - i] = w / A[399 - i, 399 - i]


@proc
def pb_trisolv(L: f64[400, 400], x: f64[400], b: f64[400]):
    for i in seq(0, 400):
        x[i] = b[i]
        for j in seq(0, i):
            x[i] += -L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
