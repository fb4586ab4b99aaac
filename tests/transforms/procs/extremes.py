"""Minima and maxima as reductions: products of other semirings, and extremes of rows."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf, select

from schedsearch.frontends.functions import module_text

exec(module_text(["abs_", "max_", "min_", "select_eq", "select_le", "select_lt"]))


@proc
def min_plus(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] = select(A[i, k] + B[k, j], C[i, j], A[i, k] + B[k, j], C[i, j])


@proc
def max_plus(C: f64[13, 21], A: f64[13, 9], B: f64[9, 21]):
    for i in seq(0, 13):
        for j in seq(0, 21):
            C[i, j] = 0.0
            for k in seq(0, 9):
                C[i, j] = max_(C[i, j], A[i, k] + B[k, j])


@proc
def farthest(D: f32[9, 37], A: f32[9, 5], B: f32[37, 5]):
    for i in seq(0, 9):
        for j in seq(0, 37):
            for k in seq(0, 5):
                D[i, j] = fmaxf(D[i, j], fmaxf(A[i, k] - B[j, k], -(A[i, k] - B[j, k])))


@proc
def relaxed(C: i32[11, 24], A: i32[11, 7], B: i32[7, 24]):
    for i in seq(0, 11):
        for j in seq(0, 24):
            for k in seq(0, 7):
                t: i32
                t = A[i, k] + B[k, j]
                C[i, j] = select_lt(t, C[i, j], t, C[i, j])


@proc
def bottleneck(C: f32[8, 16], A: f32[8, 6], B: f32[6, 16]):
    for i in seq(0, 8):
        for j in seq(0, 16):
            for k in seq(0, 6):
                C[i, j] = select_le(
                    C[i, j], min_(A[i, k], B[k, j]), min_(A[i, k], B[k, j]), C[i, j]
                )


@proc
def pooled(y: f32[6, 5, 16], x: f32[8, 7, 16]):
    for i in seq(0, 6):
        for j in seq(0, 5):
            for c in seq(0, 16):
                for p in seq(0, 3):
                    for q in seq(0, 3):
                        y[i, j, c] = max_(x[i + p, j + q, c], y[i, j, c])


@proc
def in_a_scalar(C: f32[11, 21], A: f32[11, 9], B: f32[9, 21]):
    for i in seq(0, 11):
        for j in seq(0, 21):
            best: f32
            best = C[i, j]
            for k in seq(0, 9):
                t: f32
                t = A[i, k] + B[k, j]
                best = select_lt(best, t, t, best)
            C[i, j] = best


@proc
def row_tops(n: size, m: f32[3], x: f32[3, n]):
    for i in seq(0, 3):
        for j in seq(0, n):
            m[i] = select(m[i], x[i, j], x[i, j], m[i])


@proc
def row_least(n: size, m: f64[3], x: f64[3, n]):
    for i in seq(0, 3):
        least: f64
        least = x[i, 0]
        for j in seq(0, n):
            least = select_le(x[i, j], least, x[i, j], least)
        m[i] = least


@proc
def row_numbers(n: size, m: f32[3], x: f32[3, n]):
    for i in seq(0, 3):
        for j in seq(0, n):
            m[i] = select_eq(x[i, j], x[i, j], select_lt(m[i], x[i, j], m[i], x[i, j]), m[i])


@proc
def row_integers(n: size, m: i32[3], x: i32[3, n]):
    for i in seq(0, 3):
        for j in seq(0, n):
            m[i] = min_(m[i], x[i, j])


@proc
def row_bytes(n: size, m: i8[3], x: i8[3, n]):
    for i in seq(0, 3):
        for j in seq(0, n):
            m[i] = max_(m[i], x[i, j])


@proc
def norm(n: size, m: f32, x: f32[n + 1]):
    for j in seq(1, n + 1):
        m = fmaxf(m, abs_(x[j]))


@proc
def spread(n: size, low: f32[1], x: f32[n], y: f32[n]):
    for j in seq(0, n):
        d: f32
        d = x[j] - y[j]
        low[0] = min_(d * d, low[0])


@proc
def no_feedback(n: size, m: f32[2], x: f32[n]):
    for j in seq(0, n):
        m[0] = max_(m[0], x[j] + m[1])
        m[1] = x[j]


@proc
def no_column(n: size, m: f32[1], x: f32[n, 2]):
    for j in seq(0, n):
        m[0] = max_(m[0], x[j, 0])


@proc
def no_narrow_bytes(n: size, m: i8[1], x: i8[n]):
    for j in seq(0, n):
        m[0] = select(m[0], x[j] + x[j], x[j] + x[j], m[0])


@proc
def no_two(n: size, m: f32[1], x: f32[n]):
    for j in seq(0, n):
        m[0] = max_(m[0], x[j])
        m[0] = min_(m[0], x[j])


@proc
def row_maybe_empty(n: size, m: f32[1], x: f32[n]):
    for j in seq(1, n):
        m[0] = max_(m[0], x[j])
