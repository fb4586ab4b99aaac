"""Loops along rows around loops down columns."""

from __future__ import annotations

from exo import proc


@proc
def projections(n: size, m: size, s: f32[m], q: f32[n], A: f32[n, m]):
    for j in seq(0, m):
        s[j] = 0.0
        for i in seq(0, n):
            s[j] += q[i] * A[i, j]
        for i in seq(0, n):
            A[i, j] += q[i] * s[j]


@proc
def means(n: size, m: size, A: f32[n, m], mean: f32[m]):
    for j in seq(0, m):
        total: f32
        total = 0.0
        for i in seq(0, n):
            total += A[i, j]
        mean[j] = 0.5 * total
        for i in seq(0, n):
            A[i, j] += -mean[j]


@proc
def above_diagonal(n: size, A: f32[n, n], R: f32[n, n], Q: f32[n, n]):
    for k in seq(0, n):
        for j in seq(k + 1, n):
            R[k, j] = 0.0
            for i in seq(0, n):
                R[k, j] += Q[i, k] * A[i, j]
            for i in seq(0, n):
                A[i, j] += Q[i, k] * R[k, j]


@proc
def along_rows(n: size, m: size, s: f32[n], q: f32[m], A: f32[n, m]):
    for i in seq(0, n):
        s[i] = 0.0
        for j in seq(0, m):
            s[i] += q[j] * A[i, j]


@proc
def perfect(n: size, m: size, s: f32[m], A: f32[n, m]):
    for j in seq(0, m):
        for i in seq(0, n):
            s[j] += A[i, j]


@proc
def bounded_by_it(n: size, s: f32[n], A: f32[n, n]):
    for j in seq(0, n):
        s[j] = 0.0
        for i in seq(0, j):
            s[j] += A[i, j]


@proc
def a_branch(n: size, m: size, s: f32[m], A: f32[n, m]):
    for j in seq(0, m):
        s[j] = 0.0
        for i in seq(0, n):
            if i < 3:
                s[j] += A[i, j]


@proc
def carried(n: size, m: size, s: f32[m + 1], A: f32[n, m + 1]):
    for j in seq(0, m):
        s[j + 1] = 2.0 * s[j]
        for i in seq(0, n):
            A[i, j] = A[i, j] + s[j]
        for i in seq(0, n):
            s[j + 1] += A[i, j]


@proc
def recurrences(n: size, m: size, x: f32[n, m], y: f32[n, m]):
    for j in seq(0, m):
        before: f32
        last: f32
        last = 0.0
        before = 0.0
        for i in seq(0, n):
            t: f32
            t = x[i, j] + 0.5 * last + 0.25 * before
            before = last
            last = t
            y[i, j] = t


@proc
def patches(c: size, n: size, col: f32[3, 2, c, n], x: f32[c, n + 2]):
    for i in seq(0, c):
        for j in seq(0, n):
            for k in seq(0, 3):
                for l in seq(0, 2):
                    col[k, l, i, j] = x[i, j + k]


@proc
def filters_down(n: size, m: size, y: f32[n, m], x: f32[n, m], s: f32):
    r: f32
    before: f32
    for j in seq(0, m):
        s = 0.0
        y[0, j] = x[0, j]
        r = 1.0
        before = 0.5 * x[0, j]
        for i in seq(0, n):
            y[i, j] = 0.5 * before + 0.25 * r
            before = x[i, j]
            r = y[i, j]
            s += r


@proc
def oscillators(n: size, m: size, x: f32[n], c: f32[m], p: f32[m]):
    for j in seq(0, m):
        last: f32
        before: f32
        last = 0.0
        before = 0.0
        for i in seq(0, n):
            t: f32
            t = x[i] + c[j] * last - before
            before = last
            last = t
        p[j] = last * before


@proc
def sums_alone(n: size, m: size, x: f32[n], c: f32[m]):
    for j in seq(0, m):
        s: f32
        s = 0.0
        for i in seq(0, n):
            s += x[i] * x[i]
        c[j] = s


@proc
def filters_of_rows(n: size, m: size, x: f32[m, n], y: f32[m, n]):
    for j in seq(0, m):
        last: f32
        last = 0.0
        for i in seq(0, n):
            last = 0.5 * last + x[j, i]
            y[j, i] = last
