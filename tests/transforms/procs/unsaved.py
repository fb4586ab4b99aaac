"""Procedures with what Python gives them: constants, and a memory of a function."""

from __future__ import annotations

from exo import DRAM, proc

N = 24


@proc
def constants_and_names(n: size, x: f32[n, N], flip: bool, scale: f32):
    assert n > 2
    for i in seq(0, n):
        t: f32
        t = 0.1
        for j in seq(0, N):
            if flip == True:  # noqa: E712
                t += x[i, (j + 5) % N] * (scale - 1.0) - 1.5e-7
            else:
                x[i, j] = t
        for i in seq(0, N / 2):
            x[0, 2 * i + 1] = -t / 3.0


def in_a_function() -> object:
    class Local(DRAM):
        pass

    @proc
    def uses(n: size, x: f32[n] @ Local):
        for i in seq(0, n):
            x[i] = 0.0

    return uses
