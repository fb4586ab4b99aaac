"""Rows that depend on the rows before them, and steps of time."""

from __future__ import annotations

from exo import proc


@proc
def five_points(n: size, m: size, a: f64[n + 2, m + 2]):
    for i in seq(1, n + 1):
        for j in seq(1, m + 1):
            a[i, j] = a[i, j - 1] + a[i - 1, j] - a[i, j] + a[i, j + 1] - a[i + 1, j]


@proc
def nine_points(a: f64[15, 31]):
    for _t in seq(0, 3):
        for i in seq(1, 14):
            for j in seq(1, 30):
                a[i, j] = (
                    (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1])
                    - (a[i, j - 1] + a[i, j] + a[i, j + 1])
                    + (a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1])
                )


@proc
def along_a_line(t: size, n: size, a: f64[n + 2]):
    for s in seq(0, t):
        for i in seq(1, n + 1):
            a[i] = a[i - 1] - a[i + 1]


@proc
def far_ahead(n: size, m: size, a: f64[n + 1, m + 4]):
    for i in seq(0, n):
        for j in seq(1, m + 1):
            a[i + 1, j] = a[i + 1, j - 1] + a[i, j + 3]


@proc
def two_sweeps(n: size, a: f64[n + 1, 40], b: f64[n + 1, 40]):
    for i in seq(0, n):
        for j in seq(1, 39):
            t: f64
            t = a[i, j + 1] - b[i, j]
            a[i + 1, j] = a[i + 1, j - 1] + t
        for j in seq(2, 38):
            b[i + 1, j] = b[i + 1, j - 1] + a[i + 1, j + 2] - b[i, j]


@proc
def there_and_back(t: size, n: size, A: f64[n + 2, 8], B: f64[n + 2, 8]):
    for s in seq(0, t):
        for i in seq(1, n + 1):
            for j in seq(1, 7):
                B[i, j] = A[i - 1, j] + A[i + 1, j] - A[i, j - 1] + A[i, j + 1]
        for i in seq(1, n + 1):
            for j in seq(1, 7):
                A[i, j] = B[i - 1, j] + B[i + 1, j] - B[i, j - 1]


@proc
def staggered(x: f64[41, 16], y: f64[41, 16], z: f64[41, 16]):
    for _t in seq(0, 9):
        for i in seq(1, 41):
            for j in seq(0, 8):
                y[i, j] += z[i - 1, j] - z[i, j]
        for k in seq(0, 41):
            for j in seq(1, 8):
                x[k, j] += z[k, j - 1] - z[k, j]
        for i in seq(0, 40):
            for j in seq(0, 7):
                z[i, j] += x[i, j + 1] - x[i, j] + y[i + 1, j] - y[i, j]


@proc
def with_a_source(x: f64[42, 16], y: f64[42, 16], source: f64[9]):
    for t in seq(0, 9):
        for j in seq(0, 16):
            y[0, j] = source[t]
        for i in seq(1, 41):
            for j in seq(0, 15):
                y[i, j] += x[i - 1, j] - x[i, j]
        for i in seq(0, 41):
            for j in seq(0, 15):
                x[i, j] += y[i, j + 1] - y[i + 1, j]


@proc
def with_residuals(A: f64[42, 16], B: f64[42, 16], r: f64[9]):
    for t in seq(0, 9):
        r[t] = 0.0
        for i in seq(1, 41):
            for j in seq(1, 15):
                B[i, j] = A[i - 1, j] - A[i + 1, j] + A[i, j - 1]
        for i in seq(1, 41):
            for j in seq(1, 15):
                r[t] += B[i, j] - A[i, j]
        for i in seq(1, 41):
            for j in seq(1, 15):
                A[i, j] = B[i, j]


@proc
def with_one_sum(A: f64[42, 16], B: f64[42, 16], r: f64):
    for _t in seq(0, 9):
        for i in seq(1, 41):
            for j in seq(1, 15):
                B[i, j] = A[i - 1, j] - A[i + 1, j] + A[i, j - 1]
        for i in seq(1, 41):
            for j in seq(1, 15):
                r += B[i, j] - A[i, j]
        for i in seq(1, 41):
            for j in seq(1, 15):
                A[i, j] = B[i, j]


@proc
def with_an_end_that_begins(A: f64[42, 16], B: f64[42, 16]):
    for _t in seq(0, 9):
        for j in seq(0, 16):
            A[0, j] = A[40, j]
        for i in seq(1, 41):
            for j in seq(1, 15):
                B[i, j] = A[i - 1, j] - A[i + 1, j] + A[i, j - 1]
        for i in seq(1, 41):
            for j in seq(1, 15):
                A[i, j] = B[i, j]


@proc
def with_an_array_of_its_own(A: f64[42, 16]):
    for _t in seq(0, 9):
        B: f64[42, 16]
        for i in seq(1, 41):
            for j in seq(1, 15):
                B[i, j] = A[i - 1, j] - A[i + 1, j] + A[i, j - 1]
        for i in seq(1, 41):
            for j in seq(1, 15):
                A[i, j] = B[i, j]


@proc
def in_cache(A: f64[8, 16], B: f64[8, 16]):
    for _t in seq(0, 9):
        for i in seq(1, 7):
            for j in seq(1, 15):
                B[i, j] = A[i - 1, j] + A[i + 1, j]
        for i in seq(1, 7):
            for j in seq(1, 15):
                A[i, j] = B[i - 1, j] + B[i + 1, j]


@proc
def apart(n: size, m: size, y: f64[n, m + 1], x: f64[n, m + 1]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j + 1] = 0.5 * y[i, j] + x[i, j]


@proc
def turned(n: size, m: size, a: f64[n + 1, m + 1]):
    for i in seq(0, n):
        for j in seq(0, m):
            a[i + 1, j + 1] = a[i + 1, j] + a[i, m - j]


@proc
def triangle(n: size, a: f64[n + 1, n + 1]):
    for i in seq(0, n):
        for j in seq(0, i):
            a[i + 1, j + 1] = a[i + 1, j] + a[i, j + 1]
