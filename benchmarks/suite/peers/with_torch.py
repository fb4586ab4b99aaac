"""The kernels in PyTorch (eager): its own operators, on the same memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F

Call = Callable[[], Any]


def tensors(prepare: Callable[..., Call]) -> Callable[..., Call]:
    """A peer that is given tensors which share the arrays' memory, and tracks no gradients."""

    @wraps(prepare)
    def prepared(*arrays: Any) -> Call:
        torch.set_grad_enabled(False)
        return prepare(*map(torch.from_numpy, arrays))

    return prepared


@tensors
def axpy(y: Any, alpha: Any, x: Any) -> Call:
    factor = alpha.item()
    return lambda: y.add_(x, alpha=factor)


@tensors
def dot(result: Any, x: Any, y: Any) -> Call:
    return lambda: torch.dot(x, y)


@tensors
def asum(result: Any, x: Any) -> Call:
    return lambda: torch.linalg.vector_norm(x, 1)


@tensors
def scal(x: Any, alpha: Any) -> Call:
    factor = alpha.item()
    return lambda: x.mul_(factor)


@tensors
def gemv_n(y: Any, a: Any, x: Any) -> Call:
    return lambda: y.addmv_(a, x)


@tensors
def gemv_t(y: Any, a: Any, x: Any) -> Call:
    return lambda: y.addmv_(a.T, x)


@tensors
def ger(a: Any, alpha: Any, x: Any, y: Any) -> Call:
    factor = alpha.item()
    return lambda: a.addr_(x, y, alpha=factor)


@tensors
def gemm(c: Any, a: Any, b: Any) -> Call:
    return lambda: torch.mm(a, b, out=c)


@tensors
def gemm_nt(c: Any, a: Any, b: Any) -> Call:
    return lambda: torch.mm(a, b.T, out=c)


@tensors
def gemm_tn(c: Any, a: Any, b: Any) -> Call:
    return lambda: torch.mm(a.T, b, out=c)


gemm_i32 = gemm


@tensors
def gemm_i8(c: Any, a: Any, b: Any) -> Call:
    return lambda: torch._int_mm(a, b, out=c)


@tensors
def batched_gemm(c: Any, a: Any, b: Any) -> Call:
    return lambda: torch.bmm(a, b, out=c)


@tensors
def syrk(c: Any, a: Any) -> Call:
    return lambda: torch.mm(a, a.T, out=c)


@tensors
def trmm(c: Any, lower: Any, b: Any) -> Call:
    return lambda: torch.mm(lower, b, out=c)


@tensors
def trsm(b: Any, lower: Any) -> Call:
    return lambda: torch.linalg.solve_triangular(lower, b, upper=False, unitriangular=True, out=b)


@tensors
def min_plus(c: Any, a: Any, b: Any) -> Call:
    path = torch.empty_like(c)

    def call() -> None:
        for first, rest in zip(a.T, b, strict=True):
            torch.add(first[:, None], rest, out=path)
            torch.minimum(c, path, out=c)

    return call


@tensors
def farthest(d: Any, a: Any, b: Any) -> Call:
    return lambda: torch.cdist(a, b, p=float("inf"))


@tensors
def row_max(m: Any, x: Any) -> Call:
    return lambda: torch.amax(x, 1, out=m)


@tensors
def max_abs(m: Any, x: Any) -> Call:
    return lambda: torch.linalg.vector_norm(x, float("inf"))


@tensors
def conv1d(out: Any, inp: Any, w: Any) -> Call:
    """As a convolution of height 1: channels last, which oneDNN likes best."""
    image = inp.T[None, :, None]
    weights = w.permute(2, 1, 0)[:, :, None].contiguous(memory_format=torch.channels_last)
    return lambda: F.conv2d(image, weights)[0, :, 0].T


@tensors
def conv2d(out: Any, inp: Any, w: Any) -> Call:
    image = inp.permute(2, 0, 1)[None]
    weights = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda: F.conv2d(image, weights)[0].permute(1, 2, 0)


@tensors
def depthwise(out: Any, inp: Any, w: Any) -> Call:
    image = inp.permute(2, 0, 1)[None]
    weights = w.permute(2, 0, 1)[:, None].contiguous(memory_format=torch.channels_last)
    return lambda: F.conv2d(image, weights, groups=len(weights))[0].permute(1, 2, 0)


@tensors
def jacobi_2d(a: Any, b: Any) -> Call:
    def half(old: Any, new: Any) -> Call:
        inner = new[1:-1, 1:-1]

        def call() -> None:
            torch.add(old[1:-1, 1:-1], old[1:-1, :-2], out=inner)
            inner.add_(old[1:-1, 2:]).add_(old[2:, 1:-1]).add_(old[:-2, 1:-1]).mul_(0.2)

        return call

    there, back = half(a, b), half(b, a)

    def call() -> None:
        there()
        back()

    return call


@tensors
def heat_3d(a: Any, b: Any) -> Call:
    def half(old: Any, new: Any) -> Call:
        inner, middle = new[1:-1, 1:-1, 1:-1], old[1:-1, 1:-1, 1:-1]

        def call() -> None:
            torch.add(old[2:, 1:-1, 1:-1], old[:-2, 1:-1, 1:-1], out=inner)
            inner.add_(old[1:-1, 2:, 1:-1]).add_(old[1:-1, :-2, 1:-1])
            inner.add_(old[1:-1, 1:-1, 2:]).add_(old[1:-1, 1:-1, :-2])
            inner.mul_(0.125).add_(middle, alpha=0.25)

        return call

    there, back = half(a, b), half(b, a)

    def call() -> None:
        there()
        back()

    return call


@tensors
def blur(out: Any, inp: Any) -> Call:
    """Slices: its pooling operator, the mean of 3 x 3 windows, is ten times slower."""
    third = 0.33333333
    across = torch.empty(inp.shape[0], out.shape[1])

    def call() -> None:
        torch.add(inp[:, :-2], inp[:, 1:-1], out=across)
        across.add_(inp[:, 2:]).mul_(third)
        torch.add(across[:-2], across[1:-1], out=out)
        out.add_(across[2:]).mul_(third)

    return call


@tensors
def softmax(out: Any, x: Any) -> Call:
    return lambda: torch.softmax(x, 1, out=out)


@tensors
def layernorm(out: Any, x: Any, gamma: Any, beta: Any) -> Call:
    return lambda: F.layer_norm(x, gamma.shape, gamma, beta, 1e-5)


@tensors
def transpose(b: Any, a: Any) -> Call:
    return lambda: b.copy_(a.T)


@tensors
def fold(profile: Any, x: Any) -> Call:
    period = len(profile)
    whole = len(x) // period * period
    rows, rest = x[:whole].reshape(-1, period), x[whole:]

    def call() -> None:
        torch.sum(rows, 0, out=profile)
        profile[: len(rest)] += rest

    return call


@tensors
def cumulative(count: Any, x: Any, edges: Any) -> Call:
    """Bins by bucketing, then adds up."""
    limits, order = torch.sort(edges)

    def call() -> None:
        bins = torch.bincount(torch.bucketize(x, limits, right=True), minlength=len(limits) + 1)
        count[order] = torch.cumsum(bins, 0)[:-1].to(count.dtype)

    return call


def _convolution(stride: int, depthwise: bool = False) -> Callable[..., Call]:
    """Channels last, which is how the arrays are."""

    def nn_convolution(inp: Any, w: Any, *rest: Any) -> Call:
        image = inp.permute(0, 3, 1, 2)
        turned = w.permute(2, 0, 1)[:, None] if depthwise else w.permute(3, 2, 0, 1)
        weights = turned.contiguous(memory_format=torch.channels_last)
        groups = len(weights) if depthwise else 1

        def call() -> Any:
            return F.conv2d(image, weights, stride=stride, groups=groups).permute(0, 2, 3, 1)

        return call

    return tensors(nn_convolution)


nn_conv3x3_stride2 = _convolution(2)
nn_conv1x1 = _convolution(1)
nn_conv1x1_stride2 = _convolution(2)
nn_conv7x7_stride2 = _convolution(2)
nn_depthwise3x3 = _convolution(1, depthwise=True)
nn_depthwise3x3_stride2 = _convolution(2, depthwise=True)


@tensors
def nn_conv3x3_bias_relu(inp: Any, w: Any, bias: Any, out: Any) -> Call:
    image = inp.permute(0, 3, 1, 2)
    weights = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda: F.conv2d(image, weights, bias).relu_().permute(0, 2, 3, 1)


@tensors
def nn_linear(x: Any, w: Any, bias: Any, out: Any) -> Call:
    return lambda: F.linear(x, w, bias)


@tensors
def nn_attention(q: Any, k: Any, v: Any, out: Any) -> Call:
    return lambda: F.scaled_dot_product_attention(q, k, v, scale=0.125)


@tensors
def nn_layernorm(x: Any, gamma: Any, beta: Any, out: Any) -> Call:
    return lambda: F.layer_norm(x, gamma.shape, gamma, beta, 1e-5)


@tensors
def nn_linear_gelu(x: Any, w: Any, bias: Any, out: Any) -> Call:
    return lambda: F.gelu(F.linear(x, w, bias), approximate="tanh")


@tensors
def nn_rmsnorm(x: Any, gamma: Any, out: Any) -> Call:
    return lambda: F.rms_norm(x, gamma.shape, gamma, 1e-6)


@tensors
def nn_swiglu(x: Any, gate: Any, up: Any, down: Any, out: Any) -> Call:
    return lambda: F.linear(F.silu(F.linear(x, gate)).mul_(F.linear(x, up)), down)
