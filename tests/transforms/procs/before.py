"""For each transform a procedure of its name that it rewrites; see `golden/`."""

from __future__ import annotations

from exo import DRAM, proc
from exo.libs.externs import relu


@proc
def block_solve(A: f32[16, 16]):
    for i in seq(0, 16):
        for j in seq(0, i):
            for k in seq(0, j):
                A[i, j] += -A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in seq(i, 16):
            for k in seq(0, i):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def block_elimination(A: f32[16, 16]):
    for k in seq(0, 16):
        for i in seq(k + 1, 16):
            A[i, k] = A[i, k] / A[k, k]
            for j in seq(k + 1, 16):
                A[i, j] += -A[i, k] * A[k, j]


@proc
def scalarise(n: size, a: f32[2, n], b: f32[n], c: f32[2, n]):
    for e in seq(0, n):
        t: f32[2]
        for i in seq(0, 2):
            t[i] = a[i, e] * b[e]
        for i in seq(0, 2):
            c[i, e] += t[1 - i]


@proc
def stage_sums(n: size, f: f32[n], x: f32[n]):
    for i in seq(0, n):
        for j in seq(0, i):
            f[i] += x[i] * x[j]
            f[j] += x[j] - x[i]


@proc
def cut_loop(x: f32[10]):
    for i in seq(0, 10):
        x[i] = 1.0


@proc
def cut_taps(y: f32[9, 4], x: f32[9, 4], w: f32[3, 4, 4]):
    for o in seq(0, 4):
        for i in seq(0, 9):
            for d in seq(0, 3):
                for k in seq(0, 4):
                    if i + d > 0 and i + d < 10:
                        y[i, o] += x[i + d - 1, k] * w[d, k, o]


@proc
def cut_triangle(C: f32[35, 35], A: f32[35, 3], B: f32[3, 35]):
    for i in seq(0, 35):
        for j in seq(0, i + 1):
            for k in seq(0, 3):
                C[i, j] += A[i, k] * B[k, j]


@proc
def delete_buffer(x: f32[8]):
    t: f32[8]
    x[0] = 1.0


@proc
def delete_pass(x: f32[8]):
    pass
    for i in seq(0, 8):
        pass
        x[i] = 1.0


@proc
def divide_by_period(n: size, profile: f32[12], x: f32[n]):
    for i in seq(0, n):
        profile[(i + 5) % 12] += x[i]


@proc
def eliminate_dead_code(n: size, x: f32[n]):
    if 0 < n:
        x[0] = 1.0
    else:
        x[0] = 2.0


@proc
def expand_alloc(n: size, x: f32[n]):
    for i in seq(0, n):
        t: f32
        t = x[i]
        x[i] = t * t


@proc
def factor_sum(C: f32[4, 6], A: f32[4, 8], X: f32[8, 9], B: f32[9, 6]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            for k in seq(0, 8):
                for m in seq(0, 9):
                    C[i, j] += A[i, k] * X[k, m] * B[m, j]


@proc
def fission(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
        y[i] = 2.0


@proc
def fold_operand(alpha: f32, A: f32[4, 8], B: f32[8, 6], C: f32[4, 6]):
    for i in seq(0, 4):
        for j in seq(0, 6):
            for k in seq(0, 8):
                C[i, j] += alpha * (A[i, k] * B[k, j])


@proc
def fold_into_reduce(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        x[i] = x[i] + y[i]


@proc
def fold_sums(y: f32[8, 8], x: f32[8, 4], w: f32[4, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 4):
                y[i, j] = x[i, k] * w[k, j] + y[i, j]


@proc
def fuse(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
    for j in seq(0, n):
        y[j] = x[j]


@proc
def clear(n: size, x: [f32][n]):
    for i in seq(0, n):
        x[i] = 0.0


@proc
def inline_all(x: f32[8, 8]):
    for i in seq(0, 8):
        w = x[i, 0:8]
        clear(8, w)


@proc
def inline_call(x: f32[8, 8]):
    for i in seq(0, 8):
        clear(8, x[i, 0:8])


@proc
def inline_window(x: f32[16]):
    w = x[2:10]
    for i in seq(0, 8):
        w[i] = 0.0


@proc
def interchange_triangle(M: size, C: f32[M, 4], A: f32[M, M], B: f32[M, 4]):
    for i in seq(0, M):
        for j in seq(0, 4):
            for k in seq(0, i):
                C[k, j] += A[i, k] * B[i, j]


@proc
def join_loops(n: size, x: f32[n + 4]):
    for i in seq(0, 4):
        x[i] = 1.0
    for i in seq(4, n + 4):
        x[i] = 1.0


@proc
def join_rows(s: f32[3], w: f32[100], A: f32[100, 3]):
    for i in seq(0, 100):
        for j in seq(0, 3):
            s[j] += A[i, j] * w[i]


@proc
def lift_alloc(n: size, x: f32[n]):
    for i in seq(0, n):
        t: f32[8]
        t[0] = x[i]
        x[i] = t[0]


@proc
def lift_scope(n: size, m: size, x: f32[n]):
    for i in seq(0, n):
        if m < 8:
            x[i] = 1.0


@proc
def merge_writes(x: f32[8], a: f32, b: f32):
    for i in seq(0, 8):
        x[i] = a
        x[i] += b


@proc
def mult_loops(n: size, x: f32[n, 8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            x[i, j] = 1.0


@proc
def pack(C: f32[16, 12], A: f32[16, 8], B: f32[8, 12]):
    for io in seq(0, 4):
        for j in seq(0, 12):
            for ii in seq(0, 4):
                for k in seq(0, 8):
                    C[4 * io + ii, j] += A[4 * io + ii, k] * B[k, j]


@proc
def parallelize(n: size, x: f32[n], y: f32[n], total: f32[1]):
    for i in seq(0, n):
        total[0] += y[i]
    for i in seq(0, n):
        x[i] = y[i]


@proc
def parallelize_reduction(y: f32[40], A: f32[32, 40], x: f32[32]):
    for i in seq(0, 32):
        for j in seq(0, 40):
            y[j] += A[i, j] * x[i]


@proc
def place(x: f32[64, 40]):
    for i in seq(0, 64):
        t: f32[40]
        for j in seq(0, 40):
            t[j] = x[i, j]
        for j in seq(0, 40):
            x[i, j] = t[j] * t[39 - j]


@proc
def remove_loop(n: size, x: f32[n]):
    for i in seq(0, n):
        x[0] = 1.0


@proc
def reorder(n: size, m: size, x: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            x[i, j] = 1.0


@proc
def reorder_stmts(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
    for i in seq(0, n):
        y[i] = 2.0


@proc
def shift_loop(n: size, x: f32[n + 3]):
    for i in seq(3, n + 3):
        x[i] = 1.0


@proc
def simplify(x: f32[8]):
    for i in seq(0, 8):
        if 1 < 4:
            x[i % 8] = 0.0


@proc
def split(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0


@proc
def vectorise(n: size, a: f32, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = a * x[i] + y[i]


@proc
def vectorise_reduction(n: size, s: f32, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        s += x[i] * y[i]


@proc
def unroll(x: f32[8]):
    for i in seq(0, 3):
        x[2 * i] = 1.0


@proc
def register_block(M: size, C: f32[M, 40], A: f32[M, 24], B: f32[24, 40]):
    for i in seq(0, M):
        for j in seq(0, 40):
            for k in seq(0, 24):
                C[i, j] += A[i, k] * B[k, j]


class VEC_F32X4(DRAM):
    """Registers, by their name."""


@proc
def block_edges(C: f32[4, 7], A: f32[4, 5], B: f32[5, 7]):
    for i in seq(0, 4):
        tile: f32[4] @ VEC_F32X4  # its tiles' instructions are left out
    for i in seq(0, 4):
        for j in seq(4, 7):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]


@proc
def stage_scalar(y: f32[8], A: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            y[i] += A[i, j] * x[j]


@proc
def compute_at(out: f32[6, 8], inp: f32[8, 8]):
    t: f32[8, 8]
    for y in seq(0, 8):
        for x in seq(0, 8):
            t[y, x] = inp[y, x] * 3.0
    for y in seq(0, 6):
        for x in seq(0, 8):
            out[y, x] = t[y, x] + t[y + 2, x]


@proc
def shrink_buffer(n: size, x: f32[n, 8]):
    t: f32[n, 8]
    for i in seq(0, n):
        for j in seq(0, 8):
            t[i, j] = x[i, j]
        for j in seq(0, 8):
            x[i, j] += t[i, 7 - j]


@proc
def hoist(y: f32[4, 8], x: f32[4, 8], v: f32[4]):
    for i in seq(0, 4):
        for j in seq(0, 8):
            y[i, j] = x[i, j] / v[i]


@proc
def specialise(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0


@proc
def inline_term(D: f32[6, 8], X: f32[6, 4], Y: f32[8, 4]):
    for i in seq(0, 6):
        for j in seq(0, 8):
            for k in seq(0, 4):
                t: f32
                t = X[i, k] - Y[j, k]
                D[i, j] += t * t


@proc
def inline_value(n: size, x: f32[n], y: f32[n]):
    t: f32[n]
    for i in seq(0, n):
        t[i] = x[i] * 2.0
        y[i] = t[i] + 1.0


@proc
def compile_with(y: f32[8], x: f32[8]):
    for i in seq(0, 8):
        y[i] += x[i]


@proc
def tile(b: f32[64, 64], a: f32[64, 64]):
    for i in seq(0, 64):
        for j in seq(0, 64):
            b[j, i] = a[i, j]


@proc
def unroll_and_jam(n: size, y: f32[8], A: f32[8, n], x: f32[n]):
    for i in seq(0, 8):
        for k in seq(0, n):
            y[i] += A[i, k] * x[k]


@proc
def interleave(n: size, x: f32[n], y: f32[n], z: f32[n]):
    for i in seq(0, n):
        t: f32
        t = x[i] * x[i]
        y[i] = t / z[i]


@proc
def use_instruction(y: i32[8], A: i8[8, 64], x: i8[64]):
    for i in seq(0, 8):
        for k in seq(0, 64):
            y[i] += A[i, k] * x[k]


@proc
def prefetch(y: f32[8], A: f32[64, 8]):
    for k in seq(0, 64):
        y[0] += A[k, 0]


@proc
def overlapped_tile(out: f32[64, 8], inp: f32[66, 8]):
    t: f32[66, 8]
    for y in seq(0, 66):
        for x in seq(0, 8):
            t[y, x] = inp[y, x] * 2.0
    for y in seq(0, 64):
        for x in seq(0, 8):
            out[y, x] = t[y, x] + t[y + 2, x]


@proc
def turn_operand(C: f32[16, 16], A: f32[16, 4], B: f32[16, 4]):
    for i in seq(0, 16):
        for j in seq(0, i + 1):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[j, k]


@proc
def turn_result(B: f32[40, 40], A: f32[40, 40]):
    for i in seq(0, 40):
        for j in seq(0, 40):
            for k in seq(j + 1, 40):
                B[i, j] += B[i, k] * A[k, j]


@proc
def change_columns(y: f32[16, 20], w: f32[16, 5, 3], x: f32[5, 41]):
    for o in seq(0, 16):
        for j in seq(0, 20):
            y[o, j] = 0.0
            for c in seq(0, 5):
                for r in seq(0, 3):
                    y[o, j] += w[o, c, r] * x[c, 2 * j + r]


@proc
def make_planar(C: f32[16, 16, 2], A: f32[16, 16, 2], B: f32[16, 16, 2]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 16):
                C[i, j, 0] += A[i, k, 0] * B[k, j, 0]
                C[i, j, 1] += A[i, k, 1] * B[k, j, 0]


@proc
def hoist_temporary(d: f32[8, 8], x: f32[8, 3], y: f32[8, 3]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 0.0
            yy: f32
            yy = 0.0
            for k in seq(0, 3):
                t += x[i, k] * y[j, k]
                yy += y[j, k] * y[j, k]
            d[i, j] = t / yy


@proc
def isolate_sum(y: f32[16, 8], x: f32[16, 4], w: f32[8, 4], b: f32[8]):
    for i in seq(0, 16):
        for j in seq(0, 8):
            t: f32
            t = b[j]
            for k in seq(0, 4):
                t += x[i, k] * w[j, k]
            y[i, j] = relu(t)


@proc
def sink_loop(s: f32[8], q: f32[4], A: f32[4, 8]):
    for j in seq(0, 8):
        s[j] = 0.0
        for i in seq(0, 4):
            s[j] += q[i] * A[i, j]
        for i in seq(0, 4):
            A[i, j] += q[i] * s[j]


@proc
def split_sum(C: f32[16, 16], A: f32[16, 4], B: f32[16, 4]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


@proc
def block_all(C: f32[8, 8], D: f32[8, 8], A: f32[8, 4], B: f32[4, 8], E: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[k, j]
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 8):
                D[i, j] += C[i, k] * E[k, j]


@proc
def transpose(P: f32[64, 16], A: f32[16, 64]):
    for k in seq(0, 64):
        for j in seq(0, 16):
            P[k, j] = A[j, k]


@proc
def cut_apart(n: size, D: f32[n, n]):
    for k in seq(0, n):
        for i in seq(0, n):
            for j in seq(0, n):
                D[i, j] += D[i, k] * D[k, j]


@proc
def cut_borders(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        for d in seq(0, 3):
            if i + d > 0 and i + d < n + 1:
                y[i] += x[i + d - 1]


@proc
def cut_conditions(n: size, S: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            if j <= i:
                S[i, j] = x[i] * y[j]
            else:
                S[i, j] = 0.0


@proc
def skew(a: f64[18, 42]):
    for i in seq(0, 17):
        for j in seq(0, 40):
            a[i + 1, j + 1] = 0.5 * a[i + 1, j] + 0.25 * a[i, j + 2]


@proc
def vectorise_recurrence(a: f32[4, 42], x: f32[4, 40]):
    for i in seq(0, 4):
        for j in seq(0, 40):
            a[i, j + 1] = 0.5 * (a[i, j] + a[i, j + 2]) + x[i, j]


@proc
def strip_rows(n: size, y: f32[n], A: f32[64, n], x: f32[n]):
    for i in seq(0, 64):
        t: f32
        t = 0.0
        for j in seq(0, n):
            t += A[i, j] * x[j]
        for j in seq(0, n):
            y[j] += t * A[i, j]
