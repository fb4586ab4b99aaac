"""PolyBench's stencils, f64, medium sizes, 100 time steps each.

The coefficients of `adi` are numbers: for its 200 x 200 points and 100 steps they are
a = c = -400, b = 801, d = f = -200 and e = 401. Exo has no descending loops, so its backward
sweeps count up and index from the end.
"""

from __future__ import annotations

from exo import proc


@proc
def pb_adi(u: f64[200, 200], v: f64[200, 200], p: f64[200, 200], q: f64[200, 200]):
    for _t in seq(0, 100):
        for i in seq(1, 199):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in seq(1, 199):
                p[i, j] = 400.0 / (-400.0 * p[i, j - 1] + 801.0)
                q[i, j] = (
                    200.0 * u[j, i - 1]
                    - 399.0 * u[j, i]
                    + 200.0 * u[j, i + 1]
                    + 400.0 * q[i, j - 1]
                ) / (-400.0 * p[i, j - 1] + 801.0)
            v[199, i] = 1.0
            for j in seq(1, 199):
                v[199 - j, i] = p[i, 199 - j] * v[200 - j, i] + q[i, 199 - j]
        for i in seq(1, 199):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in seq(1, 199):
                p[i, j] = 200.0 / (-200.0 * p[i, j - 1] + 401.0)
                q[i, j] = (
                    400.0 * v[i - 1, j]
                    - 799.0 * v[i, j]
                    + 400.0 * v[i + 1, j]
                    + 200.0 * q[i, j - 1]
                ) / (-200.0 * p[i, j - 1] + 401.0)
            u[i, 199] = 1.0
            for j in seq(1, 199):
                u[i, 199 - j] = p[i, 199 - j] * u[i, 200 - j] + q[i, 199 - j]


@proc
def pb_fdtd_2d(ex: f64[200, 240], ey: f64[200, 240], hz: f64[200, 240], source: f64[100]):
    for t in seq(0, 100):
        for j in seq(0, 240):
            ey[0, j] = source[t]
        for i in seq(1, 200):
            for j in seq(0, 240):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in seq(0, 200):
            for j in seq(1, 240):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in seq(0, 199):
            for j in seq(0, 239):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@proc
def pb_heat_3d(A: f64[40, 40, 40], B: f64[40, 40, 40]):
    for _t in seq(0, 100):
        for i in seq(1, 39):
            for j in seq(1, 39):
                for k in seq(1, 39):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in seq(1, 39):
            for j in seq(1, 39):
                for k in seq(1, 39):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


@proc
def pb_jacobi_1d(A: f64[400], B: f64[400]):
    for _t in seq(0, 100):
        for i in seq(1, 399):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in seq(1, 399):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


@proc
def pb_jacobi_2d(A: f64[250, 250], B: f64[250, 250]):
    for _t in seq(0, 100):
        for i in seq(1, 249):
            for j in seq(1, 249):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in seq(1, 249):
            for j in seq(1, 249):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


@proc
def pb_seidel_2d(A: f64[400, 400]):
    for _t in seq(0, 100):
        for i in seq(1, 399):
            for j in seq(1, 399):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
