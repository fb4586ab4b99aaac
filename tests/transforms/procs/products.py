"""Sums of several terms, to be added one after another or not."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def both(n: size, A: f32[n, n], B: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + 2.0 * B[i, k] * A[j, k] + A[k, j]


@proc
def integers(n: size, A: i32[n, n], B: i32[n, n], C: i32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


@proc
def converted(n: size, A: f64[n, n], B: f64[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


@proc
def itself(n: size, A: f32[n, n], C: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * A[j, k] + 0.1 * C[i, j]


@proc
def vector(n: size, A: f32[n, n], B: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            y[i] += A[i, j] * x[j] + B[i, j] * x[j]


@proc
def elementwise(n: size, A: f32[n, n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            A[i, j] += x[i] * y[j] + y[i] * x[j]


@proc
def dense(n: size, m: size, p: size, x: f32[n, p], w: f32[m, p], b: f32[m], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = b[j]
            for k in seq(0, p):
                t += x[i, k] * w[j, k]
            y[i, j] = relu(t)


@proc
def dense_of_batch(
    c: size, n: size, m: size, p: size, x: f32[c, n, p], w: f32[m, p], b: f32[m], y: f32[c, n, m]
):
    for e in seq(0, c):
        for i in seq(0, n):
            for j in seq(0, m):
                t: f32
                t = b[j]
                for k in seq(0, p):
                    t += x[e, i, k] * w[j, k]
                y[e, i, j] = relu(t)


@proc
def dense_of_others(
    c: size, n: size, m: size, p: size, x: f32[c, n, p], w: f32[c, m, p], y: f32[c, n, m]
):
    for e in seq(0, c):
        for i in seq(0, n):
            for j in seq(0, m):
                t: f32
                t = 0.0
                for k in seq(0, p):
                    t += x[e, i, k] * w[e, j, k]
                y[e, i, j] = relu(t)


@proc
def dense_then_summed(
    c: size, n: size, m: size, p: size, x: f32[c, n, p], w: f32[m, p], y: f32[n, m]
):
    for e in seq(0, c):
        for i in seq(0, n):
            for j in seq(0, m):
                t: f32
                t = 0.0
                for k in seq(0, p):
                    t += x[e, i, k] * w[j, k]
                y[i, j] += relu(t)


@proc
def dense_of_groups(
    n: size, m: size, p: size, x: f32[n, 12 * p], w: f32[m, 12 * p], s: f32[m, p], y: f32[n, m]
):
    for i in seq(0, n):
        for j in seq(0, m):
            y[i, j] = 0.0
            for g in seq(0, p):
                t: f32
                t = 0.0
                for k in seq(0, 12):
                    t += x[i, 12 * g + k] * w[j, 12 * g + k]
                y[i, j] += s[j, g] * t


@proc
def dense_of_groups_by_scalars(
    n: size, m: size, p: size, x: f64[n, p, 9], w: f64[m, p, 9], s: f64[m, p], b: f64[m],
    y: f64[n, m],
):  # fmt: skip
    for i in seq(0, n):
        for j in seq(0, m):
            total: f64
            total = b[j]
            for g in seq(0, p):
                scale: f64
                scale = s[j, g]
                t: f64
                t = 0.0
                for k in seq(0, 9):
                    t += x[i, g, k] * w[j, g, k]
                total += scale * t
            y[i, j] = relu(total)


@proc
def dense_of_groups_of_bytes(
    n: size, m: size, p: size, x: i8[n, 8 * p], w: i8[m, 8 * p], s: f32[n, p], r: f32[m, p],
    y: f32[n, m],
):  # fmt: skip
    for i in seq(0, n):
        for g in seq(0, p):
            for j in seq(0, m):
                t: i32
                t = 0.0
                for k in seq(0, 8):
                    a: i32
                    a = x[i, 8 * g + k]
                    b: i32
                    b = w[j, 8 * g + k]
                    t += a * b
                f: f32
                f = t
                y[i, j] += s[i, g] * r[j, g] * f


@proc
def dense_of_few(n: size, m: size, p: size, x: f32[n, p, 4], w: f32[m, p, 4], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, p):
                t: f32
                t = 0.0
                for k in seq(0, 4):
                    t += x[i, g, k] * w[j, g, k]
                y[i, j] += relu(t)


@proc
def dense_of_columns(n: size, m: size, p: size, x: f32[n, 8], w: f32[m, 8, p], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, p):
                t: f32
                t = 0.0
                for k in seq(0, 8):
                    t += x[i, k] * w[j, k, g]
                y[i, j] += relu(t)


@proc
def dense_of_own(n: size, m: size, p: size, x: f32[n, p, 8], w: f32[m, p, 8], y: f32[n, m, p]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, p):
                t: f32
                t = 0.0
                for k in seq(0, 8):
                    t += x[i, g, k] * w[j, g, k]
                y[i, j, g] += relu(t)


@proc
def dense_of_last(n: size, m: size, p: size, x: f32[n, p, 8], w: f32[m, p, 8], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, p):
                t: f32
                t = 0.0
                for k in seq(0, 8):
                    t += x[i, g, k] * w[j, g, k]
                y[i, j] = relu(t)


@proc
def dense_of_read(n: size, m: size, p: size, x: f32[n, p, 8], w: f32[m, p, 8], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, p):
                t: f32
                t = y[i, 0]
                for k in seq(0, 8):
                    t += x[i, g, k] * w[j, g, k]
                y[i, j] += relu(t)


@proc
def dense_of_triangle(n: size, m: size, x: f32[n, n, 8], w: f32[m, n, 8], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for g in seq(0, i):
                t: f32
                t = 0.0
                for k in seq(0, 8):
                    t += x[i, g, k] * w[j, g, k]
                y[i, j] += relu(t)


@proc
def dense_of_changing(
    c: size, n: size, m: size, p: size, x: f32[c, n, p], w: f32[m, p], y: f32[c, n, m]
):
    for e in seq(0, c):
        for i in seq(0, n):
            for j in seq(0, m):
                t: f32
                t = 0.0
                for k in seq(0, p):
                    t += x[e, i, k] * w[j, k]
                y[e, i, j] = relu(t)
        w[0, 0] = y[e, 0, 0]


@proc
def weighted_mean(n: size, m: size, p: size, s: f32[n, m], v: f32[m, p], out: f32[n, p]):
    for i in seq(0, n):
        row: f32[m]
        total: f32
        total = 0.0
        unused: f32
        for j in seq(0, m):
            unused = s[i, j]
            row[j] = unused + 1.0
            total += row[j]
        for d in seq(0, p):
            out[i, d] = 0.0
            for j in seq(0, m):
                out[i, d] += row[j] * v[j, d]
            out[i, d] = out[i, d] * total


@proc
def lower_dense(n: size, x: f32[n, n], w: f32[n, n], y: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i + 1):
            t: f32
            t = 0.0
            for k in seq(0, n):
                t += x[i, k] * w[j, k]
            y[i, j] = t


@proc
def upper_dense(n: size, x: f32[n, n], y: f32[n, n]):
    for i in seq(0, n):
        for j in seq(i, n):
            t: f32
            t = 0.0
            for k in seq(0, n):
                t += x[k, i] * x[k, j]
            y[i, j] = t
            y[j, i] = t


@proc
def norms(n: size, m: size, x: f32[n, m, 8], y: f32[n, m, 8], out: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += x[i, j, k] * y[i, j, k]
            out[i, j] = t


@proc
def carried(n: size, m: size, p: size, x: f32[n, p], w: f32[m, p], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = 0.0
            for k in seq(0, p):
                t += x[i, k] * w[j, k]
            y[i, j] = t
            x[i, 0] = t


@proc
def both_sides(n: size, m: size, A: f32[n, n], B: f32[n, m], C: f32[n, m], b: f32):
    for i in seq(0, n):
        for j in seq(0, m):
            below: f32
            below = 0.0
            for k in seq(0, i):
                C[k, j] += b * B[i, j] * A[i, k]
                below += B[k, j] * A[i, k]
            C[i, j] = b * C[i, j] + below


@proc
def both_sides_by_scalars(n: size, m: size, A: f32[n, n], B: f32[n, m], C: f32[n, m], b: f32):
    for j in seq(0, m):
        for i in seq(0, n):
            scaled: f32
            scaled = b * B[i, j]
            below: f32
            below = 0.0
            for k in seq(0, i):
                C[k, j] += scaled * A[i, k]
                below += B[k, j] * A[i, k]
            C[i, j] = b * C[i, j] + scaled * A[i, i] + b * below


@proc
def overwritten(n: size, m: size, A: f32[n, n], B: f32[n, m], C: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, n):
                C[k, j] += B[i, j] * A[i, k]
            C[i, j] = 0.0


@proc
def complex_product(m: size, n: size, p: size, C: f32[m, n, 2], A: f32[m, p, 2], B: f32[p, n, 2]):
    for i in seq(0, m):
        for j in seq(0, n):
            C[i, j, 0] = 0.0
            C[i, j, 1] = 0.0
            for k in seq(0, p):
                C[i, j, 0] += A[i, k, 0] * B[k, j, 0] - A[i, k, 1] * B[k, j, 1]
                C[i, j, 1] += A[i, k, 0] * B[k, j, 1] + A[i, k, 1] * B[k, j, 0]


@proc
def complex_square(C: f64[24, 24, 2], A: f64[24, 24, 2]):
    for k in seq(0, 24):
        for i in seq(0, 24):
            for j in seq(0, 24):
                C[i, j, 0] += A[i, k, 0] * A[k, j, 0] - A[i, k, 1] * A[k, j, 1]
                C[i, j, 1] += A[i, k, 0] * A[k, j, 1] + A[i, k, 1] * A[k, j, 0]


@proc
def pixels_resized(n: size, Y: f32[2, n, n, 3], X: f32[2, 7, n, 3], w: f32[n, 7]):
    for b in seq(0, 2):
        for k in seq(0, 7):
            for i in seq(0, n):
                for j in seq(0, n):
                    Y[b, i, j, 0] += w[i, k] * X[b, k, j, 0]
                    Y[b, i, j, 2] += w[i, k] * X[b, k, j, 1]


@proc
def parts_by_a_loop(C: f32[24, 24, 2], A: f32[24, 24], B: f32[24, 24, 2]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            for k in seq(0, 24):
                for c in seq(0, 2):
                    C[i, j, c] += A[i, k] * B[k, j, c]


@proc
def complex_vector(y: f32[24, 2], A: f32[24, 24, 2], x: f32[24, 2]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            y[i, 0] += A[i, j, 0] * x[j, 0] - A[i, j, 1] * x[j, 1]


@proc
def halves(C: f16[24, 24, 2], A: f16[24, 24], B: f16[24, 24, 2]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            for k in seq(0, 24):
                C[i, j, 0] += A[i, k] * B[k, j, 1]


@proc
def bytes_converted(C: i32[24, 24, 2], A: i8[24, 24], B: i8[24, 24, 2]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            for k in seq(0, 24):
                C[i, j, 0] += A[i, k] * B[k, j, 1]


@proc
def bodies(n: size, F: f32[n, 3], P: f32[n, 3], m: f32[n]):
    for i in seq(0, n):
        for j in seq(0, n):
            dx: f32
            dx = P[j, 0] - P[i, 0]
            dy: f32
            dy = P[j, 1] - P[i, 1]
            s: f32
            s = m[j] * (dx * dx + dy * dy)
            F[i, 0] += s * dx
            F[i, 1] += s * dy


@proc
def pushed(n: size, F: f32[n, 2], P: f32[n, 2], s: f32[9]):
    for t in seq(0, 9):
        for j in seq(0, n):
            F[j, 0] = F[j, 0] + s[t] * P[j, 1]
            F[j, 1] = F[j, 1] - s[t] * P[j, 0]


@proc
def seldom(F: f32[24, 2], P: f32[24, 2], s: f32[7]):
    for t in seq(0, 7):
        for j in seq(0, 24):
            F[j, 0] = F[j, 0] + s[t] * P[j, 1]


@proc
def grey(y: f32[24, 24], x: f32[24, 24, 3]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            y[i, j] = x[i, j, 0] + x[i, j, 1] + x[i, j, 2]


@proc
def every_second(y: f32[24], x: f32[48, 2]):
    for i in seq(0, 24):
        for j in seq(0, 24):
            y[i] += x[2 * j, 0] * x[2 * j, 1]


@proc
def gates(n: size, m: size, p: size, y: f32[n, m], x: f32[n, p], w: f32[3, m, p], b: f32[3, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            g: f32[3]
            for t in seq(0, 3):
                g[t] = b[t, j]
                for k in seq(0, p):
                    g[t] += w[t, j, k] * x[i, k]
            y[i, j] = g[0] * g[1] + g[2]


@proc
def dense_of_bytes(n: size, m: size, p: size, x: ui8[n, p], w: i8[m, p], s: f32[m], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: i32
            t = 0.0
            for k in seq(0, p):
                a: i32
                b: i32
                a = x[i, k]
                b = w[j, k]
                t += a * b
            f: f32
            f = t
            y[i, j] = relu(f * s[j])
