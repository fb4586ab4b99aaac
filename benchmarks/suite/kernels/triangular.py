"""Triangular nests, f32: C += A A^T (lower half), C += L B, and B := L^-1 B.

L is lower triangular. In `trsm` its diagonal is 1 (not read), and each row of B needs all
rows above: only columns are independent.
"""

from __future__ import annotations

from exo import proc


@proc
def syrk(C: f32[512, 512], A: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, i + 1):
            for k in seq(0, 512):
                C[i, j] += A[i, k] * A[j, k]


@proc
def trmm(C: f32[512, 512], L: f32[512, 512], B: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, i + 1):
                C[i, j] += L[i, k] * B[k, j]


@proc
def trsm(B: f32[128, 512], L: f32[128, 128]):
    for i in seq(0, 128):
        for k in seq(0, i):
            for j in seq(0, 512):
                B[i, j] += -L[i, k] * B[k, j]
