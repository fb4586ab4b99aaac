"""Nests like a histogram: many values into few bins.

`fold` sums a time series over its period (epoch folding); `cumulative` counts the values
below each edge.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select


@proc
def fold(profile: f32[96], x: f32[1048576]):
    for i in seq(0, 1048576):
        profile[i % 96] += x[i]


@proc
def cumulative(count: f32[32], x: f32[524288], edges: f32[32]):
    for i in seq(0, 524288):
        for b in seq(0, 32):
            count[b] += select(x[i], edges[b], 1.0, 0.0)
