"""Small kernels of every shape that a schedule must keep the meaning of."""

from __future__ import annotations

from exo import config, proc
from exo.libs.externs import relu, select, sqrt
from exo.libs.memories import DRAM_STACK


@proc
def matmul(C: f32[6, 8], A: f32[6, 7], B: f32[7, 8]):
    for i in seq(0, 6):
        for j in seq(0, 8):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]


@proc
def blur(out: f32[6, 9], inp: f32[8, 11]):
    tmp: f32[8, 9]
    for y in seq(0, 8):
        for x in seq(0, 9):
            tmp[y, x] = (inp[y, x] + inp[y, x + 1] + inp[y, x + 2]) * 3.0
    for y in seq(0, 6):
        for x in seq(0, 9):
            out[y, x] = tmp[y, x] + tmp[y + 1, x] - tmp[y + 2, x]


@proc
def layernorm(out: f32[5, 16], x: f32[5, 16], gamma: f32[16]):
    for i in seq(0, 5):
        mean: f32
        mean = 0.0
        for j in seq(0, 16):
            mean += x[i, j]
        mean = mean * 0.0625
        var: f32
        var = 1.0
        for j in seq(0, 16):
            var += (x[i, j] - mean) * (x[i, j] - mean)
        inv: f32
        inv = 1.0 / sqrt(var)
        for j in seq(0, 16):
            out[i, j] = (x[i, j] - mean) * inv * gamma[j]


@proc
def conv(out: f32[9, 4], inp: f32[11, 3], w: f32[3, 3, 4]):
    for x in seq(0, 9):
        for co in seq(0, 4):
            out[x, co] = 0.0
            for kx in seq(0, 3):
                for ci in seq(0, 3):
                    out[x, co] += inp[x + kx, ci] * w[kx, ci, co]


@proc
def gemm(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    assert N % 8 == 0
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def triangle(n: size, y: f64[n], L: f64[n, n], x: f64[n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            y[i] += L[i, j] * x[j]
    for i in seq(0, n):
        for j in seq(i, n):
            y[j] += L[i, j]


@proc
def matmul_i8(C: i32[4, 9], A: i8[4, 5], B: i8[5, 9]):
    for i in seq(0, 4):
        for j in seq(0, 9):
            for k in seq(0, 5):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def scale(n: size, row: [f32][n], by: f32):
    for i in seq(0, n):
        row[i] = row[i] * by


@proc
def add_column(n: size, to: [f32][n], column: [f32][n]):
    assert stride(to, 0) == 1
    if n > 2:
        for i in seq(0, n):
            to[i] += column[i]


@proc
def windows(n: size, x: f32[n, 10], y: f32[6], by: f32):
    assert n > 4
    # Exo declares a window const unless the buffer is also written directly.
    for j in seq(0, 6):
        y[j] += 1.0
    x[0, 0] = 2.0
    for i in seq(0, 4):
        scale(7, x[i + 1, 2:9], by)
    inner = x[2:4, 3:8]
    for i in seq(0, 2):
        for j in seq(0, 5):
            inner[i, j] += y[j]
    for j in seq(0, 10):
        add_column(4, y[1:5], x[0:4, j])


@proc
def branches(n: size, up: bool, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        if i < 3:
            x[i] = 1.0
        else:
            if up:
                x[i] += 2.0
            else:
                x[i] = x[i] + y[i]
    for i in seq(0, n):
        if up:
            for j in seq(0, 4):
                y[i] += 3.0
    for i in seq(0, n):
        if i == 2 or (n - 2 <= i and i > 0):
            y[i] = 0.0 - x[i]


@config
class Mode:
    factor: f32
    rows: size
    on: bool


@proc
def configured(x: f32[8, 4]):
    Mode.factor = 3.0
    Mode.rows = 5
    for i in seq(0, 8):
        if i < Mode.rows:
            for j in seq(0, 4):
                x[i, j] = x[i, j] * Mode.factor
    Mode.rows = 2
    for i in seq(0, 8):
        if i >= Mode.rows:
            for j in seq(0, 4):
                x[i, j] += 1.0


@proc
def divisions(x: f32[24], y: f32[24]):
    for i in seq(0, 24):
        x[i] += y[5 * (i % 2) + i / 3]
    for i in seq(0, 12):
        if i % 3 == 1:
            x[(i + 19) % 24] += y[(i / 4) * 8]
    for i in seq(0, 20):
        y[(i - 5) % 10 + 3] += x[i]
        y[(i - 7) / 4 + 2] += 1.0


@proc
def ranges(n: size, x: f32[n + 8], y: f32[n + 8]):
    for i in seq(1, n):
        x[i] = y[i - 1] + y[i + 1]
    for i in seq(4, 12):
        x[i - 4] += 1.0
    for i in seq(12, 14):
        y[i - 8] += 1.0
    for i in seq(2, 2):
        y[i] = 7.0
    if n > 3:
        for i in seq(0, n - 3):
            y[i] += x[i + 2]
    for i in seq(0, 3):
        x[0] = 5.0


@proc
def chains(x: f32[8], y: f32[8], total: f32):
    pass
    unused: f32[8]
    for i in seq(0, 8):
        x[i] = y[i]
        x[i] = x[i] + 2.0
        x[i] += y[i]
        x[i] += 3.0
        total += x[i]
    for i in seq(0, 8):
        pass
        t: f32[8] @ DRAM_STACK
        for j in seq(0, 8):
            t[j] = y[j] + x[i]
        for j in seq(0, 8):
            x[i] += t[j]
    for i in seq(0, 1):
        for j in seq(0, 8):
            y[j] = relu(-x[j]) + select(x[j], y[j], 1.0, 2.0)


@proc
def temporaries(n: size, x: f32[n, 6], y: f32[n]):
    for i in seq(0, n):
        row: f32[6]
        for j in seq(0, 6):
            row[j] = x[i, j]
        if i < n - 1:
            best: f32
            best = row[0]
            for j in seq(1, 6):
                best += row[j]
            y[i] = best
        else:
            y[i] = 1.0
    for i in par(0, n):
        for j in par(0, 6):
            x[i, j] = x[i, j] * 2.0
