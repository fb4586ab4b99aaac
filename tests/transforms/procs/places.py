"""Procedures with buffers to place."""

from __future__ import annotations

from exo import proc
from exo.libs.memories import DRAM_STATIC


@proc
def panels(x: f32[24, 70], y: f32[24, 70]):
    rows: f32[24, 70]
    for i in seq(0, 24):
        for j in seq(0, 70):
            rows[i, j] = x[i, j]
    for i in seq(0, 24):
        row: f64[700]
        s: f32
        for j in seq(0, 70):
            row[10 * j] = rows[i, 69 - j]
        for j in seq(0, 70):
            s = row[10 * j]
            y[i, j] = s * 2.0


@proc
def of_any_size(n: size, x: f32[n]):
    t: f32[n]
    for i in seq(0, n):
        t[i] = x[i]
    for i in seq(0, n):
        x[i] = t[i] + t[n - 1 - i]


@proc
def large(x: f32[17, 1000]):
    t: f32[17, 1000]
    for i in seq(0, 17):
        for j in seq(0, 1000):
            t[i, j] = x[i, j]
    for i in seq(0, 17):
        for j in seq(0, 1000):
            x[i, j] = t[16 - i, 999 - j]


@proc
def in_static_memory(x: f32[8, 4]):
    for i in seq(0, 8):
        t: f32[4] @ DRAM_STATIC
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] = t[3 - j]
