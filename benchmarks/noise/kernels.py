"""Kernels whose time is known up to a factor: units of the same work, again and again.

A unit is a pass over arrays that stay in one cache, so that every one finds there what the
one before left; in memory (`stream`) it is a row, which was out of all caches before: 60
rows are 118 MB, and between two visits of one there are 40 at least. Results do not depend
on how many units there are, and of the machine code nothing does but one constant.

Before, units were rows in a cache of which some were computed again, by 440 rows of 300 more
than by 400; what the repeated ones found in which cache was not what the others did, and 10 %
more work took no more time.
"""

from __future__ import annotations

from exo import proc

UNITS = 100


@proc
def polynomial(units: size, y: f32[16384], x: f32[16384]):
    for _unit in seq(0, units):
        for i in seq(0, 16384):
            y[i] = (
                (((((x[i] + 0.1) * x[i] + 0.2) * x[i] + 0.3) * x[i] + 0.4) * x[i] + 0.5) * x[i]
                + 0.6
            ) * x[i] + 0.7


@proc
def combine_l2(units: size, y: f32[32768], x: f32[32768], z: f32[32768]):
    for _unit in seq(0, units):
        for i in seq(0, 32768):
            y[i] = 0.5 * x[i] + z[i]


@proc
def combine_l3(units: size, y: f32[393216], x: f32[393216], z: f32[393216]):
    for _unit in seq(0, units):
        for i in seq(0, 393216):
            y[i] = 0.5 * x[i] + z[i]


@proc
def stream(units: size, y: f32[60, 163840], x: f32[60, 163840], z: f32[60, 163840]):
    for unit in seq(0, units):
        for j in seq(0, 163840):
            y[unit % 60, j] = 0.5 * x[unit % 60, j] + z[unit % 60, j]
