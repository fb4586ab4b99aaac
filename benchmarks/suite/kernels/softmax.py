"""f32 softmax of 512 rows of 1024, shifted by each row's largest value."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, fmaxf


@proc
def softmax(out: f32[512, 1024], x: f32[512, 1024]):
    for i in seq(0, 512):
        top: f32
        top = x[i, 0]
        for j in seq(0, 1024):
            top = fmaxf(top, x[i, j])
        total: f32
        total = 0.0
        for j in seq(0, 1024):
            out[i, j] = expf(x[i, j] - top)
            total += out[i, j]
        inv: f32
        inv = 1.0 / total
        for j in seq(0, 1024):
            out[i, j] = out[i, j] * inv
