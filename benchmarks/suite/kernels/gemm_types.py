"""Dense matrix products of other types: f64, i32, and i8 with i32 sums."""

from __future__ import annotations

from exo import proc


@proc
def gemm_f64(C: f64[512, 512], A: f64[512, 512], B: f64[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                C[i, j] += A[i, k] * B[k, j]


@proc
def gemm_i32(C: i32[256, 256], A: i32[256, 256], B: i32[256, 256]):
    for i in seq(0, 256):
        for j in seq(0, 256):
            for k in seq(0, 256):
                C[i, j] += A[i, k] * B[k, j]


@proc
def gemm_i8(C: i32[512, 512], A: i8[512, 512], B: i8[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b
