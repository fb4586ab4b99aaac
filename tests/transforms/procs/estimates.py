"""Loops of known cost to a compiler."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, fmaxf


@proc
def softmax(out: f32[64, 256], x: f32[64, 256]):
    for i in seq(0, 64):
        top: f32
        top = x[i, 0]
        for j in seq(0, 256):
            top = fmaxf(top, x[i, j])
        for j in seq(0, 256):
            out[i, j] = expf(x[i, j] - top)


@proc
def doubled(y: i32[1]):
    s: i32
    s = y[0]
    for i in seq(0, 4):
        s += s - s + s
    y[0] = s
