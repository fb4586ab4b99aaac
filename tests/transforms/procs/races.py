"""Loops (the outermost one of each procedure) whose iterations conflict, and loops whose
iterations do not."""

from __future__ import annotations

from exo import DRAM, config, instr, proc
from exo.libs.memories import DRAM_STACK, DRAM_STATIC


@config
class Setting:
    scale: f32


@proc
def racy_reduction(C: f32[8, 8], A: f32[8, 8], B: f32[8, 8]):
    for k in seq(0, 8):
        for i in seq(0, 8):
            for j in seq(0, 8):
                C[i, j] += A[i, k] * B[k, j]


@proc
def racy_scalar(x: f32[8], total: f32):
    for i in seq(0, 8):
        total += x[i]


@proc
def racy_stencil(x: f32[10]):
    for i in seq(0, 8):
        x[i + 1] = x[i] + x[i + 2]


@proc
def racy_offset(n: size, m: size, x: f32[n + m]):
    for i in seq(0, n):
        x[i] = x[i + m]


@proc
def racy_blocks(x: f32[8, 5]):
    for i in seq(0, 4):
        for j in seq(0, 5):
            x[i + j, j] = 1.0


@proc
def fill(w: [f32][4]):
    for l in seq(0, 4):
        w[l] = 1.0


@proc
def racy_windows(x: f32[16]):
    for i in seq(0, 5):
        fill(x[3 * i : 3 * i + 4])


@proc
def racy_window_statement(x: f32[16]):
    for i in seq(0, 5):
        w = x[2 * i : 2 * i + 6]
        w[1] = w[4]


@proc
def racy_triangle(n: size, x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            x[j] += 1.0


@proc
def racy_wrap(x: f32[8]):
    for i in seq(0, 12):
        x[i % 8] = 1.0


@proc
def racy_static(x: f32[8, 4]):
    for i in seq(0, 8):
        t: f32[4] @ DRAM_STATIC
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] = t[j] * 2.0


OWN_STACK = type("DRAM_STACK", (DRAM_STATIC,), {})
OWN_VECTORS = type("VEC_SCRATCH", (DRAM_STATIC,), {})


@proc
def racy_named_as_the_stack(x: f32[8, 4]):
    for i in seq(0, 8):
        t: f32[4] @ OWN_STACK
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] = t[j] * 2.0


@proc
def racy_named_as_registers(x: f32[8, 4]):
    for i in seq(0, 8):
        t: f32[4] @ OWN_VECTORS
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] = t[j] * 2.0


@proc
def slow_fill(w: [f32][4]):
    t: f32[4] @ DRAM_STATIC
    for l in seq(0, 4):
        t[l] = 1.0
    for l in seq(0, 4):
        w[l] = t[l]


@proc
def racy_static_below(x: f32[4, 4]):
    for i in seq(0, 4):
        slow_fill(x[i, 0:4])


@proc
def racy_shared_temporary(x: f32[8, 4]):
    t: f32[4]
    for i in seq(0, 8):
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] = t[j] * 2.0


@proc
def racy_config(x: f32[8]):
    for i in seq(0, 8):
        Setting.scale = 2.0
        x[i] = Setting.scale


@proc
def racy_transpose(x: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            x[i, j] = x[j, i]


@proc
def racy_second_nest(x: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            x[i, j] = 1.0
        for j in seq(0, 8):
            x[j, i] = 1.0


@proc
def fine_rows(n: size, m: size, x: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            x[i, j] = x[i, j] * 2.0


@proc
def fine_tiles(C: f32[32, 8], A: f32[32, 8], B: f32[8, 8]):
    for io in seq(0, 8):
        for k in seq(0, 8):
            for ii in seq(0, 4):
                for j in seq(0, 8):
                    C[4 * io + ii, j] += A[4 * io + ii, k] * B[k, j]


@proc
def fine_tail(n: size, x: f32[n]):
    for io in seq(0, (n + 3) / 4):
        for ii in seq(0, 4):
            if 4 * io + ii < n:
                x[4 * io + ii] = 1.0


@proc
def fine_shifted(n: size, x: f32[n + 8], y: f32[n + 10]):
    for i in seq(3, n + 3):
        x[n + 8 - i] = y[i] + y[i + 1]


@proc
def fine_own_temporary(x: f32[8, 4]):
    for i in seq(0, 8):
        t: f32[4]
        u: f32 @ DRAM_STACK
        for j in seq(0, 4):
            u = x[i, j]
            t[j] = u
        for j in seq(0, 4):
            x[i, j] = t[j] * 2.0


@proc
def fine_windows(x: f32[20]):
    for i in seq(0, 5):
        fill(x[4 * i : 4 * i + 4])


@proc
def fine_window_statement(x: f32[10, 16]):
    for i in seq(0, 5):
        w = x[2 * i : 2 * i + 2, 3]
        w[1] = w[0]


@instr("for (int i = 0; i < 4; i++) (&{dst_data})[i] = (&{src_data})[i];")
def copy_four(dst: [f32][4] @ DRAM, src: [f32][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@proc
def fine_instructions(x: f32[8, 16], y: f32[16]):
    for i in seq(0, 8):
        for j in seq(0, 4):
            copy_four(x[i, 4 * j : 4 * j + 4], y[4 * j : 4 * j + 4])


@proc
def fine_modulo_below(x: f32[8, 4]):
    for i in seq(0, 8):
        for j in seq(0, 9):
            x[i, j % 4] = 1.0
