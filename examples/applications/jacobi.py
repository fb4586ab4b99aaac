"""Poisson's equation on a square by Jacobi's method, in f64: 200 sweeps over 512 x 512 points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from exo import proc

import schedsearch

BOUND = 1e-12
"""Of differences between results, relative to the largest: a sweep adds five numbers."""


@schedsearch.kernel
@proc
def sweep(n: size, m: size, new: f64[n + 2, m + 2], old: f64[n + 2, m + 2], f: f64[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            new[i + 1, j + 1] = 0.25 * (
                old[i, j + 1] + old[i + 2, j + 1] + old[i + 1, j] + old[i + 1, j + 2] + f[i, j]
            )


def make(small: bool) -> dict[str, Any]:
    """The first guess with its boundary, and the right-hand side times the mesh width squared."""
    rng = np.random.default_rng(0)
    n, sweeps = (14, 5) if small else (512, 200)
    return {"u": rng.random((n + 2, n + 2)), "f": rng.random((n, n)), "sweeps": sweeps}


def with_kernels(u: Any, f: Any, sweeps: int) -> Any:
    old, new = u.copy(), u.copy()
    for _ in range(sweeps):
        sweep(new, old, f)
        old, new = new, old
    return old


def with_numpy(u: Any, f: Any, sweeps: int) -> Any:
    old, new = u.copy(), u.copy()
    for _ in range(sweeps):
        inner = new[1:-1, 1:-1]
        np.add(old[:-2, 1:-1], old[2:, 1:-1], out=inner)
        inner += old[1:-1, :-2]
        inner += old[1:-1, 2:]
        inner += f
        inner *= 0.25
        old, new = new, old
    return old


def with_numba() -> Callable[..., Any]:
    import numba

    @numba.njit(fastmath=True)
    def one(new: Any, old: Any, f: Any) -> None:
        for i in range(f.shape[0]):
            for j in range(f.shape[1]):
                new[i + 1, j + 1] = 0.25 * (
                    old[i, j + 1] + old[i + 2, j + 1] + old[i + 1, j] + old[i + 1, j + 2] + f[i, j]
                )

    def solve(u: Any, f: Any, sweeps: int) -> Any:
        old, new = u.copy(), u.copy()
        for _ in range(sweeps):
            one(new, old, f)
            old, new = new, old
        return old

    return solve
