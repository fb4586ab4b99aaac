"""f32 convolution, NHWC with N = 1: 56 x 56 output pixels, 3 x 3 window, 64 -> 64 channels.

The input is already padded by one pixel on each side.
"""

from __future__ import annotations

from exo import proc


@proc
def conv2d(out: f32[56, 56, 64], inp: f32[58, 58, 64], w: f32[3, 3, 64, 64]):
    for y in seq(0, 56):
        for x in seq(0, 56):
            for co in seq(0, 64):
                out[y, x, co] = 0.0
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        for ci in seq(0, 64):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]
