"""Sums of products of bytes, and what looks like them."""

from __future__ import annotations

from exo import proc


@proc
def product(C: i32[29, 70], A: i8[29, 75], B: i8[75, 70]):
    for i in seq(0, 29):
        for j in seq(0, 70):
            for k in seq(0, 75):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def turned(C: i32[24, 64], A: ui8[24, 64], B: i8[64, 64]):
    for i in seq(0, 24):
        for j in seq(0, 64):
            for k in seq(0, 64):
                a: i32
                a = A[i, k]
                b: i32
                b = B[j, k]
                C[i, j] += b * a


@proc
def any_size(M: size, N: size, K: size, C: i32[M, N], A: i8[M, K], B: ui8[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def swapped(C: i32[24, 32], A: ui8[24, 36], B: ui8[36, 32]):
    for k in seq(0, 36):
        for i in seq(0, 24):
            for j in seq(0, 32):
                b: i32
                a: i32
                b = B[k, j]
                a = A[i, k]
                C[i, j] += b * a


@proc
def convolution(O: i32[9, 14, 48], I: i8[11, 16, 20], W: i8[3, 3, 20, 48]):
    for y in seq(0, 9):
        for x in seq(0, 14):
            for o in seq(0, 48):
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        for c in seq(0, 20):
                            a: i32
                            b: i32
                            a = I[y + ky, x + kx, c]
                            b = W[ky, kx, c, o]
                            O[y, x, o] += a * b


@proc
def across(C: i32[24, 32], A: i8[36, 24], B: i8[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                a: i32
                b: i32
                a = A[k, i]
                b = B[k, j]
                C[i, j] += a * b


@proc
def strided(C: i32[24, 32], A: i8[24, 72], B: i8[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                a: i32
                b: i32
                a = A[i, 2 * k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def halves(C: i32[24, 32], A: ui16[24, 36], B: ui16[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def sums(C: i32[24, 32], B: i8[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                b: i32
                b = B[k, j]
                C[i, j] += b


@proc
def to_floats(C: f32[24, 32], A: i8[24, 36], B: i8[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                a: f32
                b: f32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def short(C: i32[24, 32], A: i8[24, 3], B: i8[3, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 3):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def same_row(C: i32[24, 32], A: i8[36], B: i8[36, 32]):
    for i in seq(0, 24):
        for j in seq(0, 32):
            for k in seq(0, 36):
                a: i32
                b: i32
                a = A[k]
                b = B[k, j]
                C[i, j] += a * b
