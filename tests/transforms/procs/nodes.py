"""Every kind of node, type and argument of Exo's language."""

from __future__ import annotations

from exo import DRAM, config, instr, proc
from exo.libs.externs import relu, select, sin
from exo.libs.memories import DRAM_STACK


@config
class Control:
    start: index
    count: size
    on: bool
    scale: f32


@instr("{dst_data} = {value};")
def store_one(dst: [f32][1] @ DRAM, value: f32):
    dst[0] = value


@proc
def callee(n: size, w: [f32][n], s: f32, flag: bool, step: stride, at: index):
    assert stride(w, 0) == 1
    assert at >= 0 and at < n
    if flag:
        w[at] = s


@proc
def everything(
    n: size,
    at: index,
    flag: bool,
    st: stride,
    x: f32[n, 8] @ DRAM,
    w: [f32][n, n],
    s: f32,
    h: f16,
    d: f64[4],
    b: i8[4],
    u: ui8[4],
    v: ui16[4],
    k: i32[4],
    r: R,
):
    assert n > 4 and n % 4 == 0
    assert at >= 0 and at < n
    assert stride(w, 1) == 1
    pass
    Control.start = at
    Control.count = n
    Control.on = flag
    Control.scale = s
    t: f32[n, 2 * n + 1] @ DRAM
    u8: f32 @ DRAM_STACK
    for i in par(0, n):
        x[i, 0] = -x[i, 1] * 2.0 + s / 4.0
    for i in seq(1, n - 1):
        for j in seq(i / 2, (3 * i + 7) % 4 + i):
            if i < j and (flag or i == at):
                t[i, j] += sin(s) + select(s, s, s, relu(s))
            else:
                if Control.start + i < Control.count:
                    t[i, 2 * j - (i % 4) / 2] = Control.scale
    view = x[2:n, 3]
    view[0] = view[1]
    row = x[at, 0:8]
    row[Control.start - at] = w[at, 0]
    callee(8, x[at, 0:8], s, flag, stride(w, 0), 3)
    store_one(x[0, 4:5], s)
    for i in seq(0, 4):
        d[i] = s
        b[i] = -b[i]
        u[i] += u[i]
        v[i] = 1.0
        k[i] += k[i] * 2.0
    u8 = 0.0
    h = u8
    r += s
