"""Dense matrix products, f32: C += A B, with either operand transposed."""

from __future__ import annotations

from exo import proc


@proc
def gemm_nn(C: f32[512, 512], A: f32[512, 512], B: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                C[i, j] += A[i, k] * B[k, j]


@proc
def gemm_nt(C: f32[512, 512], A: f32[512, 512], B: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                C[i, j] += A[i, k] * B[j, k]


@proc
def gemm_tn(C: f32[512, 512], A: f32[512, 512], B: f32[512, 512]):
    for i in seq(0, 512):
        for j in seq(0, 512):
            for k in seq(0, 512):
                C[i, j] += A[k, i] * B[k, j]


@proc
def gemm_nn_1024(C: f32[1024, 1024], A: f32[1024, 1024], B: f32[1024, 1024]):
    for i in seq(0, 1024):
        for j in seq(0, 1024):
            for k in seq(0, 1024):
                C[i, j] += A[i, k] * B[k, j]
