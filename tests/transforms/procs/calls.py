"""Calls whose asserts hold, for Exo has proven it; the innermost statement of each is one."""

from __future__ import annotations

from exo import proc


@proc
def below(n: size, i: index, j: index, x: [f32][n]):
    assert 0 <= j
    assert j <= i
    assert i < n
    x[i] = x[j]


@proc
def constant(x: f32[8]):
    below(8, 7, 0, x[0:8])


@proc
def triangle(n: size, x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            below(n, i, j, x[0:n])


@proc
def reversed(n: size, x: f32[n]):
    for i in seq(0, n):
        for j in seq(i, n):
            below(n, n - 1 - i, n - 1 - j, x[0:n])


@proc
def tail(n: size, x: f32[n]):
    for i in seq(0, n % 4):
        below(n, i + 4 * (n / 4), 4 * (n / 4), x[0:n])


@proc
def guarded(n: size, x: f32[n]):
    for io in seq(0, (n + 7) / 8):
        for i in seq(0, 8):
            if 8 * io + i < n:
                below(n, 8 * io + i, 8 * io, x[0:n])


@proc
def asserted(n: size, m: size, x: f32[n]):
    assert m <= n
    for i in seq(0, m):
        below(n, i, 0, x[0:n])
