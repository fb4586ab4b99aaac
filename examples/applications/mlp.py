"""Forward pass of a perceptron with two hidden layers, in f32: a batch of 256 images."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from exo import proc
from exo.libs.externs import relu

import schedsearch

BOUND = 1e-4
"""Of differences between results, relative to the largest: sums of 784 products, in any order."""


@schedsearch.kernel
@proc
def hidden(m: size, n: size, k: size, y: f32[m, n], x: f32[m, k], w: f32[k, n], b: f32[n]):
    for i in seq(0, m):
        for j in seq(0, n):
            y[i, j] = b[j]
            for e in seq(0, k):
                y[i, j] += x[i, e] * w[e, j]
    for i in seq(0, m):
        for j in seq(0, n):
            y[i, j] = relu(y[i, j])


@schedsearch.kernel
@proc
def output(m: size, n: size, k: size, y: f32[m, n], x: f32[m, k], w: f32[k, n], b: f32[n]):
    for i in seq(0, m):
        for j in seq(0, n):
            y[i, j] = b[j]
            for e in seq(0, k):
                y[i, j] += x[i, e] * w[e, j]


def make(small: bool) -> dict[str, Any]:
    """Images, and weights and biases of the layers."""
    rng = np.random.default_rng(0)
    batch, *widths = (8, 16, 12, 10, 4) if small else (256, 784, 512, 512, 10)
    shapes = list(pairwise(widths))
    return {
        "x": rng.random((batch, widths[0]), np.float32),
        "weights": [rng.normal(0, k**-0.5, (k, n)).astype("f4") for k, n in shapes],
        "biases": [rng.standard_normal(n, np.float32) for _, n in shapes],
    }


def with_kernels(x: Any, weights: Any, biases: Any) -> Any:
    *first, last = zip(weights, biases, strict=True)
    for w, b in first:
        y = np.empty((len(x), len(b)), np.float32)
        hidden(y, x, w, b)
        x = y
    y = np.empty((len(x), len(last[1])), np.float32)
    output(y, x, *last)
    return y


def with_numpy(x: Any, weights: Any, biases: Any) -> Any:
    *first, (w_last, b_last) = zip(weights, biases, strict=True)
    for w, b in first:
        x = x @ w
        x += b
        np.maximum(x, 0, out=x)
    x = x @ w_last
    x += b_last
    return x


def with_numba() -> Callable[..., Any]:
    """Loops in the order in which the innermost is vectorised."""
    import numba

    @numba.njit(fastmath=True)
    def layer(x: Any, w: Any, b: Any) -> Any:
        y = np.empty((len(x), len(b)), np.float32)
        for i in range(len(x)):
            y[i] = b
            for e in range(len(w)):
                for j in range(len(b)):
                    y[i, j] += x[i, e] * w[e, j]
        return y

    @numba.njit(fastmath=True)
    def clip(x: Any) -> None:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = max(x[i, j], np.float32(0))

    def forward(x: Any, weights: Any, biases: Any) -> Any:
        for number, (w, b) in enumerate(zip(weights, biases, strict=True), 1):
            x = layer(x, w, b)
            if number < len(weights):
                clip(x)
        return x

    return forward
