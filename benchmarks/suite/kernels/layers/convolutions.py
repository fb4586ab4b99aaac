"""f32 convolutions of ResNet-50 and MobileNet: NHWC, weights HWIO, inputs already padded.

`B` images, `H` x `W` output pixels, `CI` to `CO` channels (`C` where each keeps to itself).
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def nn_conv3x3_bias_relu(
    B: size,
    H: size,
    W: size,
    CI: size,
    CO: size,
    inp: f32[B, H + 2, W + 2, CI],
    w: f32[3, 3, CI, CO],
    bias: f32[CO],
    out: f32[B, H, W, CO],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for co in seq(0, CO):
                    out[b, y, x, co] = bias[co]
                    for ky in seq(0, 3):
                        for kx in seq(0, 3):
                            for ci in seq(0, CI):
                                out[b, y, x, co] += inp[b, y + ky, x + kx, ci] * w[ky, kx, ci, co]
                    out[b, y, x, co] = relu(out[b, y, x, co])


@proc
def nn_conv3x3_stride2(
    B: size,
    H: size,
    W: size,
    CI: size,
    CO: size,
    inp: f32[B, 2 * H + 1, 2 * W + 1, CI],
    w: f32[3, 3, CI, CO],
    out: f32[B, H, W, CO],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for co in seq(0, CO):
                    out[b, y, x, co] = 0.0
                    for ky in seq(0, 3):
                        for kx in seq(0, 3):
                            for ci in seq(0, CI):
                                out[b, y, x, co] += (
                                    inp[b, 2 * y + ky, 2 * x + kx, ci] * w[ky, kx, ci, co]
                                )


@proc
def nn_conv1x1(
    B: size,
    H: size,
    W: size,
    CI: size,
    CO: size,
    inp: f32[B, H, W, CI],
    w: f32[1, 1, CI, CO],
    out: f32[B, H, W, CO],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for co in seq(0, CO):
                    out[b, y, x, co] = 0.0
                    for ci in seq(0, CI):
                        out[b, y, x, co] += inp[b, y, x, ci] * w[0, 0, ci, co]


@proc
def nn_conv1x1_stride2(
    B: size,
    H: size,
    W: size,
    CI: size,
    CO: size,
    inp: f32[B, 2 * H, 2 * W, CI],
    w: f32[1, 1, CI, CO],
    out: f32[B, H, W, CO],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for co in seq(0, CO):
                    out[b, y, x, co] = 0.0
                    for ci in seq(0, CI):
                        out[b, y, x, co] += inp[b, 2 * y, 2 * x, ci] * w[0, 0, ci, co]


@proc
def nn_conv7x7_stride2(
    B: size,
    H: size,
    W: size,
    CI: size,
    CO: size,
    inp: f32[B, 2 * H + 5, 2 * W + 5, CI],
    w: f32[7, 7, CI, CO],
    out: f32[B, H, W, CO],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for co in seq(0, CO):
                    out[b, y, x, co] = 0.0
                    for ky in seq(0, 7):
                        for kx in seq(0, 7):
                            for ci in seq(0, CI):
                                out[b, y, x, co] += (
                                    inp[b, 2 * y + ky, 2 * x + kx, ci] * w[ky, kx, ci, co]
                                )


@proc
def nn_depthwise3x3(
    B: size,
    H: size,
    W: size,
    C: size,
    inp: f32[B, H + 2, W + 2, C],
    w: f32[3, 3, C],
    out: f32[B, H, W, C],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for c in seq(0, C):
                    out[b, y, x, c] = 0.0
                    for ky in seq(0, 3):
                        for kx in seq(0, 3):
                            out[b, y, x, c] += inp[b, y + ky, x + kx, c] * w[ky, kx, c]


@proc
def nn_depthwise3x3_stride2(
    B: size,
    H: size,
    W: size,
    C: size,
    inp: f32[B, 2 * H + 1, 2 * W + 1, C],
    w: f32[3, 3, C],
    out: f32[B, H, W, C],
):
    for b in seq(0, B):
        for y in seq(0, H):
            for x in seq(0, W):
                for c in seq(0, C):
                    out[b, y, x, c] = 0.0
                    for ky in seq(0, 3):
                        for kx in seq(0, 3):
                            out[b, y, x, c] += inp[b, 2 * y + ky, 2 * x + kx, c] * w[ky, kx, c]
