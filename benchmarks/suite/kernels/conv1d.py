"""f32 convolution of a sequence: 2048 positions, window 5, 64 -> 64 channels, padded."""

from __future__ import annotations

from exo import proc


@proc
def conv1d(out: f32[2048, 64], inp: f32[2052, 64], w: f32[5, 64, 64]):
    for x in seq(0, 2048):
        for co in seq(0, 64):
            out[x, co] = 0.0
            for k in seq(0, 5):
                for ci in seq(0, 64):
                    out[x, co] += inp[x + k, ci] * w[k, ci, co]
