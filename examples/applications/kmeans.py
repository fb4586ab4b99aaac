"""Lloyd's algorithm for k-means, in f32: 10 rounds, 20,000 points of 32 dimensions, 64 clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from exo import proc
from exo.libs.externs import select

import schedsearch

BOUND = 1e-4
"""Of differences between centres, relative to the largest: means of hundreds of points."""


@schedsearch.kernel
@proc
def distances(n: size, k: size, d: size, D: f32[n, k], P: f32[n, d], C: f32[d, k], norms: f32[k]):
    for i in seq(0, n):
        for c in seq(0, k):
            D[i, c] = norms[c]
            for e in seq(0, d):
                D[i, c] += P[i, e] * C[e, c]


@schedsearch.kernel
@proc
def nearest(n: size, k: size, M: f32[n, k], count: f32[k], D: f32[n, k]):
    for c in seq(0, k):
        count[c] = 0.0
    for i in seq(0, n):
        least: f32
        least = 3.0e38
        for c in seq(0, k):
            least = select(D[i, c], least, D[i, c], least)
        for c in seq(0, k):
            M[i, c] = select(least, D[i, c], 0.0, 1.0)
        for c in seq(0, k):
            count[c] += M[i, c]


@schedsearch.kernel
@proc
def sums(n: size, k: size, d: size, S: f32[k, d], M: f32[n, k], P: f32[n, d]):
    for c in seq(0, k):
        for e in seq(0, d):
            S[c, e] = 0.0
    for i in seq(0, n):
        for c in seq(0, k):
            for e in seq(0, d):
                S[c, e] += M[i, c] * P[i, e]


def make(small: bool) -> dict[str, Any]:
    """Points around as many places as there are clusters, and the first centres."""
    rng = np.random.default_rng(0)
    n, k, d, rounds = (200, 4, 8, 3) if small else (20_000, 64, 32, 10)
    places = 10 * rng.standard_normal((k, d), np.float32)
    points = places[rng.integers(0, k, n)] + rng.standard_normal((n, d), np.float32)
    first = places + rng.standard_normal((k, d), np.float32)
    return {"points": points, "centres": first, "rounds": rounds}


def with_kernels(points: Any, centres: Any, rounds: int) -> Any:
    n, k = len(points), len(centres)
    far, member = np.empty((n, k), np.float32), np.empty((n, k), np.float32)
    count, total = np.empty(k, np.float32), np.empty(centres.shape, np.float32)
    for _ in range(rounds):
        # Without the squares of the points, which are the same for all centres.
        norms = np.einsum("ce,ce->c", centres, centres)
        distances(far, points, np.ascontiguousarray(-2 * centres.T), norms)
        nearest(member, count, far)
        sums(total, member, points)
        centres = total / count[:, None]
    return centres


def with_numpy(points: Any, centres: Any, rounds: int) -> Any:
    numbers = np.arange(len(centres))
    for _ in range(rounds):
        far = points @ (-2 * centres.T)
        far += np.einsum("ce,ce->c", centres, centres)
        member = (far.argmin(axis=1)[:, None] == numbers).astype(np.float32)
        centres = (member.T @ points) / member.sum(axis=0)[:, None]
    return centres


def with_numba() -> Callable[..., Any]:
    """No distances are kept: each point is added to its cluster at once."""
    import numba

    @numba.njit(fastmath=True)
    def one(points: Any, centres: Any) -> Any:
        total, count = np.zeros_like(centres), np.zeros(len(centres), np.float32)
        for i in range(len(points)):
            best, least = 0, np.float32(np.inf)
            for c in range(len(centres)):
                far = np.float32(0)
                for e in range(points.shape[1]):
                    apart = points[i, e] - centres[c, e]
                    far += apart * apart
                if far < least:
                    best, least = c, far
            count[best] += np.float32(1)
            for e in range(points.shape[1]):
                total[best, e] += points[i, e]
        for c in range(len(centres)):
            total[c] /= count[c]
        return total

    def cluster(points: Any, centres: Any, rounds: int) -> Any:
        for _ in range(rounds):
            centres = one(points, centres)
        return centres

    return cluster
