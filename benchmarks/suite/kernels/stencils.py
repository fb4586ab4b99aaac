"""Stencils of PolyBench, f32, one step there and back: five points in 2D, seven in 3D."""

from __future__ import annotations

from exo import proc


@proc
def jacobi_2d(A: f32[2048, 2048], B: f32[2048, 2048]):
    for i in seq(1, 2047):
        for j in seq(1, 2047):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
    for i in seq(1, 2047):
        for j in seq(1, 2047):
            A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


@proc
def heat_3d(A: f32[160, 160, 160], B: f32[160, 160, 160]):
    for i in seq(1, 159):
        for j in seq(1, 159):
            for k in seq(1, 159):
                B[i, j, k] = (
                    0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                    + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                    + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                    + A[i, j, k]
                )
    for i in seq(1, 159):
        for j in seq(1, 159):
            for k in seq(1, 159):
                A[i, j, k] = (
                    0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                    + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                    + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                    + B[i, j, k]
                )
