"""Kernels whose time is known up to a factor: rows, all of the same work, again and again.

`rows` of 400 goes through all 300 rows and the first 100 again; 420 computes 20 more of them
once more. Rows are computed from inputs alone, so that this changes no result, and nothing
of the machine code but one constant. What is computed again was touched long before, and
is not where the next call begins: no cache makes it cheaper than other rows.
Bound by arithmetic (`polynomial`), by a cache (`combine`, 460 KB), by memory (`row_sums`,
157 MB).
"""

from __future__ import annotations

from exo import proc

ROWS = 400


@proc
def polynomial(rows: size, y: f32[300, 512], x: f32[300, 512]):
    for i in seq(0, rows):
        for j in seq(0, 512):
            y[i % 300, j] = (
                (
                    (
                        (((x[i % 300, j] + 0.1) * x[i % 300, j] + 0.2) * x[i % 300, j] + 0.3)
                        * x[i % 300, j]
                        + 0.4
                    )
                    * x[i % 300, j]
                    + 0.5
                )
                * x[i % 300, j]
                + 0.6
            ) * x[i % 300, j] + 0.7


@proc
def combine(rows: size, y: f32[300, 128], x: f32[300, 128], z: f32[300, 128]):
    for i in seq(0, rows):
        for j in seq(0, 128):
            y[i % 300, j] = 0.5 * x[i % 300, j] + z[i % 300, j]


@proc
def row_sums(rows: size, s: f32[300], x: f32[300, 131072]):
    for i in seq(0, rows):
        s[i % 300] = 0.0
        for j in seq(0, 131072):
            s[i % 300] += x[i % 300, j]
