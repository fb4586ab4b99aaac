"""The kernels as loops for numba: in the order that is fast, with `fastmath`.

Every function is compiled when it is first called, with the array types it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from numba import njit

Call = Callable[[], Any]


def loops(function: Callable[..., Any]) -> Callable[..., Call]:
    """A peer from plain loops."""
    compiled = njit(fastmath=True)(function)

    @wraps(function)
    def prepare(*arrays: Any) -> Call:
        return partial(compiled, *arrays)

    return prepare


@loops
def axpy(y, alpha, x):
    a = alpha[()]
    for i in range(x.size):
        y[i] += a * x[i]


@loops
def dot(result, x, y):
    total = np.float32(0)
    for i in range(x.size):
        total += x[i] * y[i]
    result[()] = total


@loops
def asum(result, x):
    total = np.float32(0)
    for i in range(x.size):
        total += abs(x[i])
    result[()] = total


@loops
def scal(x, alpha):
    a = alpha[()]
    for i in range(x.size):
        x[i] *= a


@loops
def gemv_n(y, a, x):
    for i in range(a.shape[0]):
        total = np.float32(0)
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] += total


@loops
def gemv_t(y, a, x):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[j] += a[i, j] * x[i]


@loops
def ger(a, alpha, x, y):
    for i in range(a.shape[0]):
        scaled = alpha[()] * x[i]
        for j in range(a.shape[1]):
            a[i, j] += scaled * y[j]


@loops
def gemm(c, a, b):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@loops
def gemm_nt(c, a, b):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[j, k]
            c[i, j] += total


@loops
def gemm_tn(c, a, b):
    for i in range(a.shape[1]):
        for k in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[k, i] * b[k, j]


gemm_i32 = gemm


@loops
def gemm_i8(c, a, b):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += np.int32(a[i, k]) * np.int32(b[k, j])


@loops
def batched_gemm(c, a, b):
    for n in range(a.shape[0]):
        for i in range(a.shape[1]):
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    c[n, i, j] += a[n, i, k] * b[n, k, j]


@loops
def syrk(c, a):
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * a[j, k]
            c[i, j] += total


@loops
def trmm(c, lower, b):
    for i in range(lower.shape[0]):
        for k in range(i + 1):
            for j in range(b.shape[1]):
                c[i, j] += lower[i, k] * b[k, j]


@loops
def trsm(b, lower):
    for i in range(lower.shape[0]):
        for k in range(i):
            for j in range(b.shape[1]):
                b[i, j] -= lower[i, k] * b[k, j]


@loops
def min_plus(c, a, b):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            first = a[i, k]
            for j in range(c.shape[1]):
                c[i, j] = min(c[i, j], first + b[k, j])


@loops
def farthest(d, a, b):
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            top = np.float32(0)
            for k in range(a.shape[1]):
                top = max(top, abs(a[i, k] - b[j, k]))
            d[i, j] = top


@loops
def row_max(m, x):
    for i in range(m.size):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        m[i] = top


@loops
def max_abs(m, x):
    top = np.float32(0)
    for j in range(x.size):
        top = max(top, abs(x[j]))
    m[()] = top


@loops
def conv1d(out, inp, w):
    for x in range(out.shape[0]):
        for co in range(out.shape[1]):
            out[x, co] = 0
        for k in range(w.shape[0]):
            for ci in range(w.shape[1]):
                for co in range(out.shape[1]):
                    out[x, co] += inp[x + k, ci] * w[k, ci, co]


@loops
def conv2d(out, inp, w):
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for co in range(out.shape[2]):
                out[y, x, co] = 0
            for ky in range(w.shape[0]):
                for kx in range(w.shape[1]):
                    for ci in range(w.shape[2]):
                        for co in range(out.shape[2]):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]


@loops
def depthwise(out, inp, w):
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for c in range(out.shape[2]):
                total = np.float32(0)
                for ky in range(3):
                    for kx in range(3):
                        total += inp[y + ky, x + kx, c] * w[ky, kx, c]
                out[y, x, c] = total


@njit(fastmath=True, inline="always")
def _jacobi(old, new):
    for i in range(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            new[i, j] = np.float32(0.2) * (
                old[i, j] + old[i, j - 1] + old[i, j + 1] + old[i + 1, j] + old[i - 1, j]
            )


@loops
def jacobi_2d(a, b):
    _jacobi(a, b)
    _jacobi(b, a)


@njit(fastmath=True, inline="always")
def _heat(old, new):
    eighth, quarter = np.float32(0.125), np.float32(0.25)
    for i in range(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            for k in range(1, old.shape[2] - 1):
                around = old[i + 1, j, k] + old[i - 1, j, k] + old[i, j + 1, k]
                around += old[i, j - 1, k] + old[i, j, k + 1] + old[i, j, k - 1]
                new[i, j, k] = eighth * around + quarter * old[i, j, k]


@loops
def heat_3d(a, b):
    _heat(a, b)
    _heat(b, a)


@loops
def blur(out, inp):
    """Row by row: three rows of the first stage are kept at a time."""
    rows, columns = out.shape
    third = np.float32(0.33333333)
    across = np.empty((3, columns), np.float32)
    for y in range(rows + 2):
        row = across[y % 3]
        for x in range(columns):
            row[x] = (inp[y, x] + inp[y, x + 1] + inp[y, x + 2]) * third
        if y >= 2:
            for x in range(columns):
                out[y - 2, x] = (across[0, x] + across[1, x] + across[2, x]) * third


@loops
def softmax(out, x):
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            value = np.exp(x[i, j] - top)
            out[i, j] = value
            total += value
        inverse = np.float32(1) / total
        for j in range(x.shape[1]):
            out[i, j] *= inverse


@loops
def layernorm(out, x, gamma, beta):
    share = np.float32(1 / x.shape[1])
    for i in range(x.shape[0]):
        mean = np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean *= share
        variance = np.float32(0)
        for j in range(x.shape[1]):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        inverse = np.float32(1) / np.sqrt(variance * share + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * inverse * gamma[j] + beta[j]


@loops
def transpose(b, a):
    """In blocks of 32 x 32, which stay in the first-level cache."""
    for i0 in range(0, b.shape[0], 32):
        for j0 in range(0, b.shape[1], 32):
            for i in range(i0, min(i0 + 32, b.shape[0])):
                for j in range(j0, min(j0 + 32, b.shape[1])):
                    b[i, j] = a[j, i]


@loops
def fold(profile, x):
    period = profile.size
    whole = x.size // period
    for row in range(whole):
        for j in range(period):
            profile[j] += x[row * period + j]
    for i in range(whole * period, x.size):
        profile[i - whole * period] += x[i]


@loops
def cumulative(count, x, edges):
    for i in range(x.size):
        for b in range(edges.size):
            count[b] += np.float32(1) if x[i] < edges[b] else np.float32(0)
