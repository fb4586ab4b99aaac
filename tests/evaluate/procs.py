# ruff: noqa: F821, E712, RUF016
"""Exo procedures with every kind of argument, and the C that candidates are made of."""

from __future__ import annotations

from typing import Any

from exo import DRAM, config, instr, proc
from exo.backend.LoopIR_compiler import compile_to_strings
from exo.libs.externs import fmaxf, relu, select, sin, sqrt

from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC


def generate(procedure: Any) -> GeneratedC:
    header, source = compile_to_strings("kernel", [procedure._loopir_proc])
    return GeneratedC(procedure.name(), header, source, digest(header + source))


def handwritten(reference: GeneratedC, source: str) -> GeneratedC:
    """A candidate whose definitions are `source`."""
    return GeneratedC(reference.proc, reference.header, source, digest(source))


@config
class Cfg:
    scale: f32
    count: size
    enabled: bool
    unused: i8


@proc
def matmul(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def min_plus(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] = select(A[i, k] + B[k, j], C[i, j], A[i, k] + B[k, j], C[i, j])


@proc
def nearest(M: size, N: size, m: f32[M], A: f32[M, N], x: f32[N]):
    for i in seq(0, M):
        for j in seq(0, N):
            m[i] = fmaxf(m[i], A[i, j] * x[j] + 1.0)


@proc
def largest(m: f32[1], x: f32[1024]):
    for i in seq(0, 1024):
        m[0] = fmaxf(m[0], x[i])


@proc
def again(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            t: f32[n]
            for k in seq(0, n):
                t[k] = x[k] + x[k] * x[k]
            y[i] += t[j]


@proc
def corner(n: size, y: f32[n, n]):
    y[0, 0] = 1.0


@proc
def matmul_acc(C: f32[24, 24], A: f32[24, 24], B: f32[24, 24]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            acc: f32
            acc = 0.0
            for k in seq(0, 24):
                acc += A[i, k] * B[k, j]
            C[i, j] = acc


@proc
def triple(y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = 3.0 * x[i]


@proc
def shifted(y: f32[512], x: f32[512]):
    for i in seq(0, 512):
        y[i] = x[i] + 1.0


@proc
def twice(x: f32[64]):
    for i in seq(0, 64):
        x[i] = 2.0 * x[i]


@proc
def every_type(
    n: size,
    k: index,
    b: bool,
    a: f32,
    f: f32[n],
    d: f64[n],
    h: f16[n],
    s: i8[n],
    u: ui8[n],
    w: ui16[n],
    i: i32[n],
    r: R[n],
):
    assert k >= 0
    assert k < n
    if b:
        f[k] = a
    for j in seq(0, n):
        f[j] += a * 2.0
        d[j] = d[j] * 2.0
        h[j] = h[j] * 2.0
        s[j] = s[j] * s[j]
        u[j] = u[j] * 3.0
        w[j] += w[j]
        i[j] += i[j] * 2.0
        r[j] = r[j] * 0.5


@proc
def windowed(n: size, m: size, y: [f32][n, m], x: [f32][n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] += x[i, j]


@proc
def unit_stride(n: size, m: size, y: [f32][n, m], x: [f32][n, m]):
    assert stride(y, 1) == 1
    assert stride(x, 0) == 64
    assert stride(x, 1) == 1
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] += x[i, j]


@proc
def configured(n: size, x: f32[n]):
    if Cfg.enabled == True:
        for i in seq(0, n):
            x[i] = x[i] * Cfg.scale
    if Cfg.count < n:
        Cfg.count = n
        Cfg.enabled = False


@proc
def add_row(n: size, y: [f32][n], x: [f32][n]):
    for i in seq(0, n):
        y[i] += x[i]


@proc
def calls(n: size, y: f32[8, n], x: f32[n, n]):
    for i in seq(0, 8):
        add_row(n, y[i, 0:n], x[n - 1, 0:n])
    row = y[3, 0:n]
    for j in seq(0, n):
        row[j] = row[j] * 2.0


@proc
def triangle(n: size, A: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += A[i, j] * x[j]


@proc
def branches(n: size, k: index, x: f32[n]):
    assert k >= 0
    for i in seq(0, n):
        if i < 10:
            x[i] = x[i] * 2.0
        else:
            x[i] = x[i] + 1.0 * 2.0


@proc
def divided(n: size, x: f32[n], y: f32[n]):
    assert n % 8 == 0
    assert n <= 100
    for i in seq(0, n):
        y[i] = 1.0 / x[i]


@proc
def rooted(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] = sqrt(x[i])


@proc
def rectified(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] = relu(x[i]) + select(x[i], y[i], x[i], y[i])


@proc
def factorised(n: size, A: f32[n, n]):
    for k in seq(0, n):
        for i in seq(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in seq(k + 1, n):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def shortest(n: size, d: f32[n, n]):
    for k in seq(0, n):
        for i in seq(0, n):
            for j in seq(0, n):
                d[i, j] = select(d[i, j], d[i, k] + d[k, j], d[i, j], d[i, k] + d[k, j])


@proc
def recurrence(n: size, x: f32[n + 1]):
    for i in seq(0, n):
        x[i + 1] = x[i + 1] + x[i] * x[i]


@proc
def long_sum(s: f32[1], x: f32[4000000]):
    for i in seq(0, 4000000):
        s[0] += x[i] * x[i]


@proc
def waves(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] = sin(x[i]) * 0.5


@proc
def in_static(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        t: f32[4] @ DRAM
        for j in seq(0, 4):
            t[j] = x[i]
        y[i] = t[2]


@proc
def quantised(n: size, y: i8[n], x: f32[n], s: f32[n]):
    for i in seq(0, n):
        y[i] += x[i] * s[i]


@proc
def operations(
    n: size,
    a: f32[n],
    b: f32[n],
    plus: f32[n],
    minus: f32[n],
    times: f32[n],
    quotient: f32[n],
    chosen: f32[n],
    summed: f32[n],
):
    for i in seq(0, n):
        plus[i] = a[i] + b[i]
        minus[i] = a[i] - b[i]
        times[i] = a[i] * b[i]
        quotient[i] = a[i] / b[i]
        chosen[i] = select(a[i], b[i], relu(a[i]), -b[i])
        summed[i] += a[i]
        summed[i] += b[i]


@proc
def half_precision(y: f16[3], A: f16[3, 4096], x: f16[4096]):
    for i in seq(0, 3):
        for k in seq(0, 4096):
            y[i] += A[i, k] * x[k]


@proc
def shifted_root(y: f32[40], x: f32[40]):
    for i in seq(0, 40):
        y[i] = sqrt(x[i] - 10.0)


@proc
def never(y: f32[40], x: f32[40]):
    for i in seq(0, 40):
        y[i] = sqrt(-(x[i] * x[i]))


@proc
def whole(n: size, y: i8[n], x: i8[n]):
    for i in seq(0, n):
        y[i] += x[i]


@proc
def copied(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def normalise(x: f32[256], y: f32[256]):
    mean: f32
    mean = 0.0
    for i in seq(0, 256):
        mean += x[i] * 0.00390625
    spread: f32
    spread = 0.0
    for i in seq(0, 256):
        spread += (x[i] - mean) * (x[i] - mean) * 0.00390625
    for i in seq(0, 256):
        y[i] = (x[i] - mean) / sqrt(spread + 0.00001)


@proc
def rows(n: size, y: f32[n], A: f32[n, 48], x: f32[48]):
    for i in seq(0, n):
        s: f32
        s = 0.0
        for k in seq(0, 48):
            s += A[i, k] * x[k]
        y[i] = s


@proc
def sums(s: f32[4], x: f32[4, 100000]):
    for i in seq(0, 4):
        for j in seq(0, 100000):
            s[i] += x[i, j]


@instr("for (int l = 0; l < 8; l++) if (l < {n}) (&{dst_data})[l] = (&{src_data})[l];")
def copy_up_to_8(n: size, dst: [f32][n] @ DRAM, src: [f32][n] @ DRAM):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for lane in seq(0, n):
        dst[lane] = src[lane]


@proc
def _twice(n: size, y: [f32][n], x: [f32][n]):
    for i in seq(0, n):
        y[i] = x[i] * 2.0


@proc
def _thrice(n: size, y: [f32][n], x: [f32][n]):
    for i in seq(0, n):
        y[i] = x[i] * 3.0


@proc
def by_parity(n: size, y: f32[n], x: f32[n]):
    if n % 2 == 0:
        _twice(n, y[0:n], x[0:n])
    else:
        _thrice(n, y[0:n], x[0:n])


@proc
def chosen_sums(n: size, a: i8[n], b: i8[n], c: i8[n], chosen: i8[n], cut: i8[n]):
    for i in seq(0, n):
        chosen[i] = select(a[i] + b[i], c[i], a[i], b[i])
        cut[i] = relu(a[i] + b[i])


@config
class Signed:
    by: index


@proc
def signed(n: size, k: index, y: f32[n]):
    assert k >= -8
    for i in seq(0, n):
        if k < 0:
            y[i] = 1.0
        if Signed.by < 1:
            y[i] += 2.0
