# ruff: noqa: F821
"""Two procedures: which one is meant has to be said."""

from __future__ import annotations

from exo import proc


@proc
def fill(y: f32[64]):
    for i in seq(0, 64):
        y[i] = 1.0


@proc
def copy(y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = x[i]
