"""Kernels with external functions, which are calls if they are not inlined."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu, select


@proc
def conv_relu(out: f32[28, 28, 32], inp: f32[30, 30, 32], w: f32[3, 3, 32, 32]):
    for y in seq(0, 28):
        for x in seq(0, 28):
            for co in seq(0, 32):
                out[y, x, co] = 0.0
            for ky in seq(0, 3):
                for kx in seq(0, 3):
                    for ci in seq(0, 32):
                        for co in seq(0, 32):
                            out[y, x, co] += relu(inp[y + ky, x + kx, ci]) * w[ky, kx, ci, co]


@proc
def threshold(y: f32[4096], x: f32[4096]):
    for i in seq(0, 4096):
        y[i] = select(x[i], 1.0, 0.0, x[i])
