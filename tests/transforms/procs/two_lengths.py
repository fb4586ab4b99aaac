"""A loop that is another one where it is long."""

from __future__ import annotations

from exo import proc


@proc
def two_lengths(n: size, x: f32[n], y: f32[n]):
    if n > 255:
        for i in seq(0, n):
            y[i] += x[i]
    else:
        for i in seq(0, n):
            y[i] += 2.0 * x[i]
