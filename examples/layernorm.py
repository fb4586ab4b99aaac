"""f32 layer normalisation of 512 rows of 1024: zero mean, unit variance, scale and shift.

`sqrt` is Exo's external function.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import sqrt


@proc
def layernorm(out: f32[512, 1024], x: f32[512, 1024], gamma: f32[1024], beta: f32[1024]):
    for i in seq(0, 512):
        mean: f32
        mean = 0.0
        for j in seq(0, 1024):
            mean += x[i, j]
        mean = mean * 0.0009765625
        var: f32
        var = 0.00001
        for j in seq(0, 1024):
            var += (x[i, j] - mean) * (x[i, j] - mean) * 0.0009765625
        inv: f32
        inv = 1.0 / sqrt(var)
        for j in seq(0, 1024):
            out[i, j] = (x[i, j] - mean) * inv * gamma[j] + beta[j]
