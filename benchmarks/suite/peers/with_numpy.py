"""The kernels in NumPy: BLAS where it has them, no temporaries that can be avoided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Call = Callable[[], Any]


def axpy(y: Any, alpha: Any, x: Any) -> Call:
    scaled = np.empty_like(x)

    def call() -> None:
        np.multiply(x, alpha, out=scaled)
        np.add(y, scaled, out=y)

    return call


def dot(result: Any, x: Any, y: Any) -> Call:
    return lambda: np.dot(x, y)


def asum(result: Any, x: Any) -> Call:
    absolute = np.empty_like(x)
    return lambda: np.abs(x, out=absolute).sum()


def scal(x: Any, alpha: Any) -> Call:
    return lambda: np.multiply(x, alpha, out=x)


def gemv_n(y: Any, a: Any, x: Any) -> Call:
    return lambda: np.dot(a, x, out=y)


def gemv_t(y: Any, a: Any, x: Any) -> Call:
    return lambda: np.dot(a.T, x, out=y)


def ger(a: Any, alpha: Any, x: Any, y: Any) -> Call:
    product = np.empty_like(a)

    def call() -> None:
        np.outer(x * alpha, y, out=product)
        np.add(a, product, out=a)

    return call


def gemm(c: Any, a: Any, b: Any) -> Call:
    return lambda: np.matmul(a, b, out=c)


def gemm_nt(c: Any, a: Any, b: Any) -> Call:
    return lambda: np.matmul(a, b.T, out=c)


def gemm_tn(c: Any, a: Any, b: Any) -> Call:
    return lambda: np.matmul(a.T, b, out=c)


def gemm_i32(c: Any, a: Any, b: Any) -> Call:
    return lambda: np.matmul(a, b, out=c)


def gemm_i8(c: Any, a: Any, b: Any) -> Call:
    """Through f32 BLAS: sums of 512 products stay below 2^24, so it is exact."""
    product = np.empty(c.shape, np.float32)

    def call() -> None:
        np.matmul(a.astype(np.float32), b.astype(np.float32), out=product)
        np.copyto(c, product, casting="unsafe")

    return call


def batched_gemm(c: Any, a: Any, b: Any) -> Call:
    return lambda: np.matmul(a, b, out=c)


def syrk(c: Any, a: Any) -> Call:
    """NumPy calls BLAS's syrk for a matrix times its own transpose."""
    return lambda: np.matmul(a, a.T, out=c)


def trmm(c: Any, lower: Any, b: Any) -> Call:
    return lambda: np.matmul(lower, b, out=c)


def trsm(b: Any, lower: Any) -> Call:
    """NumPy has no triangular solver: the inverse, made beforehand, is its fastest way."""
    unit = np.tril(lower, -1) + np.eye(len(lower), dtype=lower.dtype)
    inverse = np.linalg.inv(unit).astype(lower.dtype)
    return lambda: np.copyto(b, inverse @ b)


def min_plus(c: Any, a: Any, b: Any) -> Call:
    path = np.empty_like(c)

    def call() -> None:
        for first, rest in zip(a.T, b, strict=True):
            np.add(first[:, None], rest, out=path)
            np.minimum(c, path, out=c)

    return call


def farthest(d: Any, a: Any, b: Any) -> Call:
    difference = np.empty_like(d)

    def call() -> None:
        d[...] = 0
        for first, other in zip(a.T, b.T, strict=True):
            np.subtract(first[:, None], other, out=difference)
            np.abs(difference, out=difference)
            np.maximum(d, difference, out=d)

    return call


def row_max(m: Any, x: Any) -> Call:
    return lambda: np.max(x, axis=1, out=m)


def max_abs(m: Any, x: Any) -> Call:
    absolute = np.empty_like(x)
    return lambda: np.abs(x, out=absolute).max()


def conv1d(out: Any, inp: Any, w: Any) -> Call:
    taps, channels, filters = w.shape
    windows = sliding_window_view(inp, taps, 0).transpose(0, 2, 1)
    columns = np.empty((len(out), taps, channels), inp.dtype)
    weights = w.reshape(-1, filters)

    def call() -> None:
        np.copyto(columns, windows)
        np.matmul(columns.reshape(len(out), -1), weights, out=out)

    return call


def conv2d(out: Any, inp: Any, w: Any) -> Call:
    """im2col and one matrix product."""
    high, wide, _, filters = w.shape
    views = sliding_window_view(inp, (high, wide), (0, 1))
    windows = views.transpose(0, 1, 3, 4, 2)
    columns = np.empty(windows.shape, inp.dtype)
    weights, flat = w.reshape(-1, filters), out.reshape(-1, filters)

    def call() -> None:
        np.copyto(columns, windows)
        np.matmul(columns.reshape(len(flat), -1), weights, out=flat)

    return call


def depthwise(out: Any, inp: Any, w: Any) -> Call:
    rows, columns, _ = out.shape
    product = np.empty_like(out)
    taps = [(inp[y : y + rows, x : x + columns], w[y, x]) for y in range(3) for x in range(3)]

    def call() -> None:
        np.multiply(*taps[0], out=out)
        for image, weight in taps[1:]:
            np.multiply(image, weight, out=product)
            np.add(out, product, out=out)

    return call


def jacobi_2d(a: Any, b: Any) -> Call:
    def half(old: Any, new: Any) -> Call:
        inner = new[1:-1, 1:-1]
        parts = (old[1:-1, :-2], old[1:-1, 2:], old[2:, 1:-1], old[:-2, 1:-1])

        def call() -> None:
            np.add(old[1:-1, 1:-1], parts[0], out=inner)
            for part in parts[1:]:
                np.add(inner, part, out=inner)
            np.multiply(inner, inner.dtype.type(0.2), out=inner)

        return call

    there, back = half(a, b), half(b, a)

    def call() -> None:
        there()
        back()

    return call


def heat_3d(a: Any, b: Any) -> Call:
    def half(old: Any, new: Any) -> Call:
        """The three second differences, added up: a sum of six less six times the middle."""
        inner, middle = new[1:-1, 1:-1, 1:-1], old[1:-1, 1:-1, 1:-1]
        parts = (
            old[:-2, 1:-1, 1:-1],
            old[1:-1, 2:, 1:-1],
            old[1:-1, :-2, 1:-1],
            old[1:-1, 1:-1, 2:],
            old[1:-1, 1:-1, :-2],
        )
        scaled = np.empty_like(middle)

        def call() -> None:
            np.add(old[2:, 1:-1, 1:-1], parts[0], out=inner)
            for part in parts[1:]:
                np.add(inner, part, out=inner)
            np.multiply(inner, inner.dtype.type(0.125), out=inner)
            np.multiply(middle, inner.dtype.type(0.25), out=scaled)
            np.add(inner, scaled, out=inner)

        return call

    there, back = half(a, b), half(b, a)

    def call() -> None:
        there()
        back()

    return call


def blur(out: Any, inp: Any) -> Call:
    rows, columns = out.shape
    third = out.dtype.type(0.33333333)
    across = np.empty((rows + 2, columns), out.dtype)

    def call() -> None:
        np.add(inp[:, :-2], inp[:, 1:-1], out=across)
        np.add(across, inp[:, 2:], out=across)
        np.multiply(across, third, out=across)
        np.add(across[:-2], across[1:-1], out=out)
        np.add(out, across[2:], out=out)
        np.multiply(out, third, out=out)

    return call


def softmax(out: Any, x: Any) -> Call:
    def call() -> None:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.multiply(out, 1 / out.sum(axis=1, keepdims=True), out=out)

    return call


def layernorm(out: Any, x: Any, gamma: Any, beta: Any) -> Call:
    squares = np.empty_like(x)

    def call() -> None:
        np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
        np.multiply(out, out, out=squares)
        variance = squares.mean(axis=1, keepdims=True) + x.dtype.type(1e-5)
        np.multiply(out, 1 / np.sqrt(variance), out=out)
        np.multiply(out, gamma, out=out)
        np.add(out, beta, out=out)

    return call


def transpose(b: Any, a: Any) -> Call:
    return lambda: np.copyto(b, a.T)


def fold(profile: Any, x: Any) -> Call:
    """Whole periods as rows of a matrix, then what is left over."""
    period = len(profile)
    whole = len(x) // period * period
    rows, rest = x[:whole].reshape(-1, period), x[whole:]

    def call() -> None:
        np.add.reduce(rows, axis=0, out=profile)
        profile[: len(rest)] += rest

    return call


def cumulative(count: Any, x: Any, edges: Any) -> Call:
    """Sorts the edges, bins the values, adds up."""
    order = np.argsort(edges)
    limits = np.concatenate([[-np.inf], edges[order], [np.inf]]).astype(x.dtype)

    def call() -> None:
        bins, _ = np.histogram(x, limits)
        count[order] = np.cumsum(bins)[:-1]

    return call


def blas_copy(x: Any, y: Any) -> Call:
    return lambda: np.copyto(y, x)


def blas_scal(alpha: Any, x: Any) -> Call:
    return lambda: np.multiply(x, alpha, out=x)


def blas_dot(x: Any, y: Any, result: Any) -> Call:
    return lambda: np.dot(x, y)


def nn_conv1x1(inp: Any, w: Any, out: Any) -> Call:
    pixels, found = inp.reshape(-1, inp.shape[-1]), out.reshape(-1, out.shape[-1])

    def call() -> None:
        np.matmul(pixels, w[0, 0], out=found)

    return call


def nn_conv1x1_stride2(inp: Any, w: Any, out: Any) -> Call:
    """The pixels that count are copied first: BLAS takes no strides of two dimensions."""
    pixels = np.empty((*out.shape[:3], inp.shape[-1]), inp.dtype)
    rows, found = pixels.reshape(-1, inp.shape[-1]), out.reshape(-1, out.shape[-1])

    def call() -> None:
        np.copyto(pixels, inp[:, ::2, ::2])
        np.matmul(rows, w[0, 0], out=found)

    return call


def nn_linear(x: Any, w: Any, bias: Any, out: Any) -> Call:
    rows, found = x.reshape(-1, x.shape[-1]), out.reshape(-1, out.shape[-1])

    def call() -> None:
        np.matmul(rows, w.T, out=found)
        np.add(found, bias, out=found)

    return call


def nn_attention(q: Any, k: Any, v: Any, out: Any) -> Call:
    turned = k.swapaxes(2, 3)

    def call() -> None:
        scores = np.matmul(q, turned)
        scores *= np.float32(0.125)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        np.matmul(scores, v, out=out)
        np.divide(out, scores.sum(-1, keepdims=True), out=out)

    return call


def nn_layernorm(x: Any, gamma: Any, beta: Any, out: Any) -> Call:
    def call() -> None:
        np.subtract(x, x.mean(-1, keepdims=True), out=out)
        variance = np.einsum("bij,bij->bi", out, out)[..., None] / np.float32(x.shape[-1])
        np.divide(out, np.sqrt(variance + np.float32(1e-5)), out=out)
        np.multiply(out, gamma, out=out)
        np.add(out, beta, out=out)

    return call


def nn_linear_gelu(x: Any, w: Any, bias: Any, out: Any) -> Call:
    linear, inner = nn_linear(x, w, bias, out), np.empty_like(out)

    def call() -> None:
        linear()
        np.multiply(out, out, out=inner)
        np.multiply(inner, np.float32(0.044715 * 0.7978845608), out=inner)
        np.add(inner, np.float32(0.7978845608), out=inner)
        np.multiply(inner, out, out=inner)
        np.tanh(inner, out=inner)
        np.add(inner, np.float32(1), out=inner)
        np.multiply(inner, np.float32(0.5), out=inner)
        np.multiply(out, inner, out=out)

    return call


def nn_rmsnorm(x: Any, gamma: Any, out: Any) -> Call:
    def call() -> None:
        mean = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
        np.divide(x, np.sqrt(mean + np.float32(1e-6)), out=out)
        np.multiply(out, gamma, out=out)

    return call


def nn_swiglu(x: Any, gate: Any, up: Any, down: Any, out: Any) -> Call:
    def call() -> None:
        gates, ups = x @ gate.T, x @ up.T
        np.multiply(ups, gates, out=ups)
        np.exp(-gates, out=gates)
        gates += np.float32(1)
        np.divide(ups, gates, out=ups)
        np.matmul(ups, down.T, out=out)

    return call
