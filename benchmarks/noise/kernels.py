"""Kernels whose time is known up to a factor: rows, all of the same work, again and again.

`rows` of 400 goes twice through all 200 rows; 420 computes the first 20 of them once more.
Rows are computed from inputs alone, so that this changes no result, and nothing of the
machine code but one constant. 400, not 200: `i % 200` has to stay for both.
Bound by arithmetic (`polynomial`), by a cache (`combine`, 600 KB), by memory (`row_sums`,
105 MB).
"""

from __future__ import annotations

from exo import proc

ROWS = 400


@proc
def polynomial(rows: size, y: f32[200, 512], x: f32[200, 512]):
    for i in seq(0, rows):
        for j in seq(0, 512):
            y[i % 200, j] = (
                (
                    (
                        (((x[i % 200, j] + 0.1) * x[i % 200, j] + 0.2) * x[i % 200, j] + 0.3)
                        * x[i % 200, j]
                        + 0.4
                    )
                    * x[i % 200, j]
                    + 0.5
                )
                * x[i % 200, j]
                + 0.6
            ) * x[i % 200, j] + 0.7


@proc
def combine(rows: size, y: f32[200, 256], x: f32[200, 256], z: f32[200, 256]):
    for i in seq(0, rows):
        for j in seq(0, 256):
            y[i % 200, j] = 0.5 * x[i % 200, j] + z[i % 200, j]


@proc
def row_sums(rows: size, s: f32[200], x: f32[200, 131072]):
    for i in seq(0, rows):
        s[i % 200] = 0.0
        for j in seq(0, 131072):
            s[i % 200] += x[i % 200, j]
