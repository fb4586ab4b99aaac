"""BLAS's real routines of levels 1 to 3, row-major, of any size: each for f32 and f64.

`blas_sgemm_nn` is that of f32, `blas_dgemm_nn` that of f64. They are what BLAS defines, without
strides, and with the arguments in its order. Of triangular and symmetric matrices only one
triangle is read; `l` and `u` in a name say which where there are both, `n` and `t` whether
matrices are transposed. trsv and trsm have a unit diagonal, which is not read.
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select, sqrt
from exo.stdlib.scheduling import rename, set_precision

LETTERS = {"s": "f32", "d": "f64"}


def both(function):
    """Defines the procedure for each type, of a text that has `R`; its temporaries are `t`."""
    general = proc(function)
    for letter, precision in LETTERS.items():
        own = rename(general, f"blas_{letter}{general.name()}")
        names = [arg.name() for arg in own.args() if arg.type().is_numeric()]
        if " t: R" in str(own):
            names.append("t: _")
        for name in names:
            own = set_precision(own, name, precision)
        globals()[own.name()] = own


# Level 1.


@both
def axpy(n: size, alpha: R, x: R[n], y: R[n]):
    for i in seq(0, n):
        y[i] += alpha * x[i]


@both
def copy(n: size, x: R[n], y: R[n]):
    for i in seq(0, n):
        y[i] = x[i]


@both
def swap(n: size, x: R[n], y: R[n]):
    for i in seq(0, n):
        t: R
        t = x[i]
        x[i] = y[i]
        y[i] = t


@both
def scal(n: size, alpha: R, x: R[n]):
    for i in seq(0, n):
        x[i] = alpha * x[i]


@both
def dot(n: size, x: R[n], y: R[n], result: R):
    result = 0.0
    for i in seq(0, n):
        result += x[i] * y[i]


@both
def asum(n: size, x: R[n], result: R):
    result = 0.0
    for i in seq(0, n):
        result += select(0.0, x[i], x[i], -x[i])


@both
def nrm2(n: size, x: R[n], result: R):
    result = 0.0
    for i in seq(0, n):
        result += x[i] * x[i]
    result = sqrt(result)


@both
def rot(n: size, x: R[n], y: R[n], c: R, s: R):
    for i in seq(0, n):
        t: R
        t = c * x[i] + s * y[i]
        y[i] = c * y[i] - s * x[i]
        x[i] = t


# Level 2.


@both
def gemv_n(M: size, N: size, alpha: R, A: R[M, N], x: R[N], beta: R, y: R[M]):
    for i in seq(0, M):
        y[i] = beta * y[i]
    for i in seq(0, M):
        for j in seq(0, N):
            y[i] += alpha * A[i, j] * x[j]


@both
def gemv_t(M: size, N: size, alpha: R, A: R[M, N], x: R[M], beta: R, y: R[N]):
    for j in seq(0, N):
        y[j] = beta * y[j]
    for i in seq(0, M):
        for j in seq(0, N):
            y[j] += alpha * A[i, j] * x[i]


@both
def ger(M: size, N: size, alpha: R, x: R[M], y: R[N], A: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            A[i, j] += alpha * x[i] * y[j]


@both
def symv(N: size, alpha: R, A: R[N, N], x: R[N], beta: R, y: R[N]):
    for i in seq(0, N):
        y[i] = beta * y[i]
    for i in seq(0, N):
        for j in seq(0, i):
            y[i] += alpha * A[i, j] * x[j]
            y[j] += alpha * A[i, j] * x[i]
        y[i] += alpha * A[i, i] * x[i]


@both
def syr(N: size, alpha: R, x: R[N], A: R[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            A[i, j] += alpha * x[i] * x[j]


@both
def syr2(N: size, alpha: R, x: R[N], y: R[N], A: R[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            A[i, j] += alpha * x[i] * y[j] + alpha * y[i] * x[j]


@both
def trmv_ln(N: size, A: R[N, N], x: R[N]):
    t: R[N]
    for i in seq(0, N):
        t[i] = 0.0
        for j in seq(0, i + 1):
            t[i] += A[i, j] * x[j]
    for i in seq(0, N):
        x[i] = t[i]


@both
def trmv_lt(N: size, A: R[N, N], x: R[N]):
    t: R[N]
    for i in seq(0, N):
        t[i] = 0.0
    for i in seq(0, N):
        for j in seq(0, i + 1):
            t[j] += A[i, j] * x[i]
    for i in seq(0, N):
        x[i] = t[i]


@both
def trmv_un(N: size, A: R[N, N], x: R[N]):
    t: R[N]
    for i in seq(0, N):
        t[i] = 0.0
        for j in seq(i, N):
            t[i] += A[i, j] * x[j]
    for i in seq(0, N):
        x[i] = t[i]


@both
def trmv_ut(N: size, A: R[N, N], x: R[N]):
    t: R[N]
    for i in seq(0, N):
        t[i] = 0.0
    for i in seq(0, N):
        for j in seq(i, N):
            t[j] += A[i, j] * x[i]
    for i in seq(0, N):
        x[i] = t[i]


@both
def trsv(N: size, A: R[N, N], x: R[N]):
    for i in seq(0, N):
        for j in seq(0, i):
            x[i] += -A[i, j] * x[j]


# Level 3.


@both
def gemm_nn(M: size, N: size, K: size, alpha: R, A: R[M, K], B: R[K, N], beta: R, C: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += alpha * A[i, k] * B[k, j]


@both
def gemm_nt(M: size, N: size, K: size, alpha: R, A: R[M, K], B: R[N, K], beta: R, C: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += alpha * A[i, k] * B[j, k]


@both
def gemm_tn(M: size, N: size, K: size, alpha: R, A: R[K, M], B: R[K, N], beta: R, C: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += alpha * A[k, i] * B[k, j]


@both
def gemm_tt(M: size, N: size, K: size, alpha: R, A: R[K, M], B: R[N, K], beta: R, C: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += alpha * A[k, i] * B[j, k]


@both
def symm(M: size, N: size, alpha: R, A: R[M, M], B: R[M, N], beta: R, C: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, i):
                C[i, j] += alpha * A[i, k] * B[k, j]
                C[k, j] += alpha * A[i, k] * B[i, j]
            C[i, j] += alpha * A[i, i] * B[i, j]


@both
def syrk_n(N: size, K: size, alpha: R, A: R[N, K], beta: R, C: R[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            C[i, j] = beta * C[i, j]
    for i in seq(0, N):
        for j in seq(0, i + 1):
            for k in seq(0, K):
                C[i, j] += alpha * A[i, k] * A[j, k]


@both
def syrk_t(N: size, K: size, alpha: R, A: R[K, N], beta: R, C: R[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            C[i, j] = beta * C[i, j]
    for i in seq(0, N):
        for j in seq(0, i + 1):
            for k in seq(0, K):
                C[i, j] += alpha * A[k, i] * A[k, j]


@both
def syr2k(N: size, K: size, alpha: R, A: R[N, K], B: R[N, K], beta: R, C: R[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            C[i, j] = beta * C[i, j]
    for i in seq(0, N):
        for j in seq(0, i + 1):
            for k in seq(0, K):
                C[i, j] += alpha * A[i, k] * B[j, k] + alpha * B[i, k] * A[j, k]


@both
def trmm_n(M: size, N: size, alpha: R, A: R[M, M], B: R[M, N]):
    # From the last row up: each needs those above it as they were.
    for i in seq(0, M):
        for j in seq(0, N):
            B[M - 1 - i, j] = alpha * A[M - 1 - i, M - 1 - i] * B[M - 1 - i, j]
            for k in seq(0, M - 1 - i):
                B[M - 1 - i, j] += alpha * A[M - 1 - i, k] * B[k, j]


@both
def trmm_t(M: size, N: size, alpha: R, A: R[M, M], B: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            B[i, j] = alpha * A[i, i] * B[i, j]
            for k in seq(i + 1, M):
                B[i, j] += alpha * A[k, i] * B[k, j]


@both
def trsm(M: size, N: size, alpha: R, A: R[M, M], B: R[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            B[i, j] = alpha * B[i, j]
        for k in seq(0, i):
            for j in seq(0, N):
                B[i, j] += -A[i, k] * B[k, j]
