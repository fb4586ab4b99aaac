# ruff: noqa: F821
"""Four loops, which can be put in 24 orders."""

from __future__ import annotations

from exo import proc


@proc
def transpose(y: f32[5, 6, 7, 8], x: f32[8, 7, 6, 5]):
    for i in seq(0, 5):
        for j in seq(0, 6):
            for k in seq(0, 7):
                for m in seq(0, 8):
                    y[i, j, k, m] += x[m, k, j, i]
