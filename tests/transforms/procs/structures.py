"""Many small problems whose values are together, and loops over structures that stay."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, fmaxf, select, sqrt


@proc
def inverses(n: size, A: f32[n, 3, 3], B: f32[n, 3, 3]):
    for e in seq(0, n):
        a: f32
        b: f32
        c: f32
        r: f32
        a = A[e, 1, 1] * A[e, 2, 2] - A[e, 1, 2] * A[e, 2, 1]
        b = A[e, 1, 2] * A[e, 2, 0] - A[e, 1, 0] * A[e, 2, 2]
        c = A[e, 1, 0] * A[e, 2, 1] - A[e, 1, 1] * A[e, 2, 0]
        r = A[e, 0, 0] * a + A[e, 0, 1] * b + A[e, 0, 2] * c
        r = 1.0 / (0.5 + r * r)
        B[e, 0, 0] = a * r
        B[e, 0, 1] = (A[e, 0, 2] * A[e, 2, 1] - A[e, 0, 1] * A[e, 2, 2]) * r
        B[e, 0, 2] = (A[e, 0, 1] * A[e, 1, 2] - A[e, 0, 2] * A[e, 1, 1]) * r
        B[e, 1, 0] = b * r
        B[e, 1, 1] = (A[e, 0, 0] * A[e, 2, 2] - A[e, 0, 2] * A[e, 2, 0]) * r
        B[e, 1, 2] = (A[e, 0, 2] * A[e, 1, 0] - A[e, 0, 0] * A[e, 1, 2]) * r
        B[e, 2, 0] = c * r
        B[e, 2, 1] = (A[e, 0, 1] * A[e, 2, 0] - A[e, 0, 0] * A[e, 2, 1]) * r
        B[e, 2, 2] = (A[e, 0, 0] * A[e, 1, 1] - A[e, 0, 1] * A[e, 1, 0]) * r


@proc
def rotations(n: size, q: f32[n, 4], v: f32[n, 3]):
    for e in seq(0, n):
        t: f32[3]
        for i in seq(0, 3):
            t[i] = q[e, 0] * v[e, i]
        t[0] += q[e, 2] * v[e, 2] - q[e, 3] * v[e, 1]
        t[1] += q[e, 3] * v[e, 0] - q[e, 1] * v[e, 2]
        t[2] += q[e, 1] * v[e, 1] - q[e, 2] * v[e, 0]
        for i in seq(0, 3):
            v[e, i] += 2.0 * t[i]


@proc
def filters(n: size, x: f64[n, 2], P: f64[n, 2, 2], z: f64[n]):
    for e in seq(0, n):
        K: f64[2]
        y: f64
        x[e, 0] += 0.5 * x[e, 1]
        P[e, 0, 0] += 0.5 * (P[e, 0, 1] + P[e, 1, 0]) + 0.25 * P[e, 1, 1]
        P[e, 0, 1] += 0.5 * P[e, 1, 1]
        P[e, 1, 0] += 0.5 * P[e, 1, 1]
        y = z[e] - x[e, 0]
        for i in seq(0, 2):
            K[i] = P[e, i, 0] / (9.0 + P[e, 0, 0] * P[e, 0, 0])
        for i in seq(0, 2):
            x[e, i] += K[i] * y
            for j in seq(0, 2):
                P[e, i, j] += -K[i] * P[e, 0, j]


@proc
def products(n: size, C: f32[n, 4, 4], A: f32[n, 4, 4], B: f32[n, 4, 4]):
    for e in seq(0, n):
        for i in seq(0, 4):
            for j in seq(0, 4):
                C[e, i, j] = 0.0
                for k in seq(0, 4):
                    C[e, i, j] += A[e, i, k] * B[e, k, j]


@proc
def points(p: f32[83, 4], M: f32[4, 4], o: f32[83, 4]):
    for e in seq(0, 83):
        for i in seq(0, 4):
            for j in seq(0, 4):
                o[e, i] += M[i, j] * p[e, j]


@proc
def exact(p: f64[48, 5], M: f64[3, 5], o: f64[48, 3]):
    for e in seq(0, 48):
        for i in seq(0, 3):
            for j in seq(0, 5):
                o[e, i] += M[i, j] * p[e, j]


@proc
def crossed(n: size, c: f32[n, 3], a: f32[n, 3], b: f32[n, 3]):
    for e in seq(0, n):
        c[e, 0] = a[e, 1] * b[e, 2] - a[e, 2] * b[e, 1]
        c[e, 1] = a[e, 2] * b[e, 0] - a[e, 0] * b[e, 2]
        c[e, 2] = a[e, 0] * b[e, 1] - a[e, 1] * b[e, 0]


@proc
def normalised(n: size, v: f32[n, 3], length: f32[n]):
    for e in seq(0, n):
        s: f32
        s = 0.0
        for i in seq(0, 3):
            s += v[e, i] * v[e, i]
        length[e] = sqrt(s)
        for i in seq(0, 3):
            v[e, i] = v[e, i] / (1.0 + s)


@proc
def factors(n: size, A: f64[n, 6, 6]):
    for e in seq(0, n):
        for j in seq(0, 6):
            for k in seq(0, j):
                A[e, j, j] += -0.01 * A[e, j, k] * A[e, j, k]
            A[e, j, j] = sqrt(9.0 + A[e, j, j] * A[e, j, j])
            for i in seq(j + 1, 6):
                for k in seq(0, j):
                    A[e, i, j] += -0.01 * A[e, i, k] * A[e, j, k]
                A[e, i, j] = A[e, i, j] / A[e, j, j]


@proc
def colours(h: size, w: size, hsv: f32[h, w, 3], rgb: f32[h, w, 3]):
    for y in seq(0, h):
        for x in seq(0, w):
            most: f32
            least: f32
            most = fmaxf(rgb[y, x, 0], fmaxf(rgb[y, x, 1], rgb[y, x, 2]))
            least = -fmaxf(-rgb[y, x, 0], fmaxf(-rgb[y, x, 1], -rgb[y, x, 2]))
            hsv[y, x, 0] = select(rgb[y, x, 0], most, rgb[y, x, 1], rgb[y, x, 2] - least)
            hsv[y, x, 1] = (most - least) / (20.0 + most)
            hsv[y, x, 2] = most


@proc
def moved(n: size, p: f32[n, 4], d: f32[2, n]):
    for e in seq(0, n):
        p[e, 0] += d[1, e] * p[e, 1]
        p[e, 2] += d[0, e] * p[e, 3]


@proc
def partly(n: size, y: f32[n, 6], x: f32[n, 2]):
    for e in seq(0, n):
        y[e, 1] = x[e, 1] - x[e, 0]
        y[e, 4] = x[e, 0]


@proc
def widened(n: size, y: f64[n, 2], x: f32[n, 7], k: i32[n, 3], c: i32[n, 2]):
    for e in seq(0, n):
        for i in seq(0, 2):
            for j in seq(0, 3):
                y[e, i] += x[e, 2 * i + j] * x[e, j]
        c[e, 0] += k[e, 2] * k[e, 0]
        c[e, 1] = k[e, 1] - k[e, 2]


@proc
def chances(n: size, y: f32[n, 7], x: f32[n, 7]):
    for e in seq(0, n):
        s: f32
        s = 0.0
        for i in seq(0, 7):
            y[e, i] = expf(0.1 * x[e, i])
            s += y[e, i]
        for i in seq(0, 7):
            y[e, i] = y[e, i] / s


@proc
def no_other_elements(n: size, y: f32[n, 3], x: f32[n, 3], w: f32[3]):
    for e in seq(0, n):
        for i in seq(0, 3):
            y[e, i] = x[e, i] * w[i] + y[e, i]


@proc
def no_structures_of_others(n: size, y: f32[n, 3], x: f32[n + 1, 3]):
    for e in seq(0, n):
        for i in seq(0, 3):
            y[e, i] = x[e + 1, 2 - i] - x[e, i]


@proc
def no_structure_of_its_own(n: size, x: f32[n + 1, 2]):
    for e in seq(0, n):
        x[e, 0] = x[e + 1, 1] - x[e, 0]


@proc
def no_few_problems(y: f32[16, 3], x: f32[16, 3]):
    for e in seq(0, 16):
        for i in seq(0, 3):
            y[e, i] = x[e, 2 - i]


@proc
def no_rows_used_again(n: size, C: f32[n, n], A: f32[n, 5], B: f32[n, 5]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[j, k]


@proc
def no_long_rows(n: size, y: f32[n], x: f32[n, 16]):
    for e in seq(0, n):
        for i in seq(0, 16):
            y[e] += x[e, i]


@proc
def no_large_structures(n: size, y: f32[n], x: f32[n, 37]):
    for e in seq(0, n):
        for i in seq(0, 7):
            y[e] += x[e, 5 * i]


@proc
def no_row_of_its_own(n: size, y: [f32][n, 3], x: f32[n, 3]):
    for e in seq(0, n):
        for i in seq(0, 3):
            y[e, i] = x[e, 2 - i]


@proc
def no_sums_around(n: size, C: f32[n, n, 2], A: f32[n, n, 2], B: f32[n, n, 2]):
    for i in seq(0, n):
        for k in seq(0, n):
            for j in seq(0, n):
                C[i, j, 0] += A[i, k, 0] * B[k, j, 0] - A[i, k, 1] * B[k, j, 1]
                C[i, j, 1] += A[i, k, 0] * B[k, j, 1] + A[i, k, 1] * B[k, j, 0]


@proc
def no_places_of_their_own(n: size, y: f32[3], x: f32[n, 3]):
    for e in seq(0, n):
        for i in seq(0, 3):
            y[i] += x[e, 2 - i]


@proc
def no_constant_member(n: size, m: size, y: f32[n, m], x: f32[n, 3]):
    for e in seq(0, n):
        for j in seq(0, m):
            y[e, j] += x[e, 1]


@proc
def no_same_planes(n: size, y: f32[3, n], x: f32[n, 3]):
    for e in seq(0, n):
        for i in seq(0, 3):
            y[i, e] = x[e, i]
