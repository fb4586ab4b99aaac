# ruff: noqa: F821
"""A file that prints when imported: that must not end up in machine-readable output."""

from __future__ import annotations

from exo import proc

print("importing the kernel library")


@proc
def fill_one(y: f32[64, 64]):
    for i in seq(0, 64):
        for j in seq(0, 64):
            y[i, j] = 1.0
