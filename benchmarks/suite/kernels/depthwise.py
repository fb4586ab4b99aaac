"""f32 depthwise convolution, NHWC with N = 1: 112 x 112 x 64, 3 x 3 window, padded."""

from __future__ import annotations

from exo import proc


@proc
def depthwise(out: f32[112, 112, 64], inp: f32[114, 114, 64], w: f32[3, 3, 64]):
    for y in seq(0, 112):
        for x in seq(0, 112):
            for c in seq(0, 64):
                out[y, x, c] = 0.0
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        out[y, x, c] += inp[y + ky, x + kx, c] * w[ky, kx, c]
